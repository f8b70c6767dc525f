package view

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"prdrunner/checkpoint/state"
)

// AskedFor describes the inputs that an approval must give.
func AskedFor(inputs []state.AskedInput) string {
	if len(inputs) == 0 {
		return ""
	}
	texts := make([]string, len(inputs))
	for i, in := range inputs {
		texts[i] = askedInput(in)
	}
	return "with " + strings.Join(texts, ", ")
}

// askedInput describes an input that an approval must give: its name, and what it is.
func askedInput(in state.AskedInput) string {
	text := in.Name + "=" + in.Placeholder()
	switch {
	case in.Description != "" && in.Default != nil:
		return fmt.Sprintf("%s (%s; default: %s)", text, in.Description, *in.Default)
	case in.Description != "":
		return fmt.Sprintf("%s (%s)", text, in.Description)
	case in.Default != nil:
		return fmt.Sprintf("%s (default: %s)", text, *in.Default)
	}
	return text
}

// givenInputs lists the inputs that were given with an answer.
func givenInputs(inputs map[string]state.Text) string {
	texts := make([]string, 0, len(inputs))
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		texts = append(texts, name+"="+shownInput(string(inputs[name])))
	}
	return strings.Join(texts, ", ")
}

// shownInput returns a value in one line, quoted if it has spaces, and cut if it is long.
func shownInput(value string) string {
	const most = 80
	if runes := []rune(value); len(runes) > most {
		value = string(runes[:most]) + "…"
	}
	if value == "" || strings.ContainsAny(value, " \t\n,\"") {
		return strconv.Quote(value)
	}
	return value
}

// runAgain names the workstreams that a rejection asks to run again.
func runAgain(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, " and ") + " will run again"
}

// askInputs asks for the values that an approval must give. Each is asked for until it is
// one of the input; an empty line takes the default.
func (t *Terminal) askInputs(ctx context.Context, asked []state.AskedInput) (map[string]state.Text, error) {
	given := make(map[string]state.Text, len(asked))
	for _, in := range asked {
		value, err := t.askInput(ctx, in)
		if err != nil {
			return nil, err
		}
		given[in.Name] = value
	}
	return given, nil
}

func (t *Terminal) askInput(ctx context.Context, in state.AskedInput) (state.Text, error) {
	question := in.Name
	if in.Description != "" {
		question += " - " + string(in.Description)
	}
	if in.Type != state.InputString || len(in.Options) > 0 {
		question += " (" + in.Placeholder() + ")"
	}
	if in.Default != nil {
		question += " [" + string(*in.Default) + "]"
	}
	for {
		answer, err := t.askLine(ctx, OneLine(question)+": ")
		if err != nil {
			return "", err
		}
		value := state.Text(answer)
		if value == "" && in.Default != nil {
			return *in.Default, nil
		}
		err = in.Check(value)
		if err == nil && value == "" {
			err = errors.New("a value is needed")
		}
		if err == nil {
			return value, nil
		}
		t.printf("Please answer again: %s.\n", OneLine(err.Error()))
	}
}
