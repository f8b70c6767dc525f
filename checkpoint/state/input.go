package state

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// AskedInput is a value that a gate asks a person to give with an approval.
type AskedInput struct {
	Name        string    `json:"name"`
	Type        InputType `json:"type"`
	Description Text      `json:"description,omitempty"`
	Default     *Text     `json:"default,omitempty"` // nil: an approval must give the value
	Options     []Text    `json:"options,omitempty"` // empty: any value of the type
}

// InputType is the type of an input.
type InputType string

// The types of inputs. Values are texts of these types.
const (
	InputString InputType = "string"
	InputNumber InputType = "number"
	InputBool   InputType = "bool"
)

// MaxInput is the largest size of the value of an input, in bytes.
const MaxInput = 64 << 10

// isDecimal reports whether a text is a number as JSON has it. Its bounds keep it as exact
// as a metric.
func isDecimal(text string) bool {
	digits, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	return len(digits) <= 150 && len(strings.TrimLeft(exponent, "+-")) <= 3 &&
		json.Valid([]byte(text)) && strings.Trim(digits, "-.0123456789") == ""
}

// Check returns why a text is no value of the input, or nil.
func (in AskedInput) Check(value Text) error {
	switch {
	case len(value) > MaxInput:
		return fmt.Errorf("%s: the value is longer than %d KiB", in.Name, MaxInput>>10)
	case strings.ContainsRune(string(value), 0):
		return fmt.Errorf("%s: the value holds a NUL byte, which no process can receive", in.Name)
	case in.Type == InputNumber && !isDecimal(string(value)):
		return fmt.Errorf("%s is a number, such as 80 or 8.5, and cannot be %q", in.Name, value)
	case in.Type == InputBool && value != "true" && value != "false":
		return fmt.Errorf("%s is true or false, and cannot be %q", in.Name, value)
	case len(in.Options) > 0 && !slices.Contains(in.Options, value):
		return fmt.Errorf("%s cannot be %q; it is one of: %s", in.Name, value, joinTexts(in.Options))
	case len(in.Options) == 0 && value == anyText: // a command was run as it was suggested
		return fmt.Errorf("%s is the place of your text in a suggested command, and cannot be the value of %s", anyText, in.Name)
	}
	return nil
}

// Placeholder stands for a value of the input in a command line.
func (in AskedInput) Placeholder() string {
	switch {
	case len(in.Options) > 0 && len(in.Options) <= 4:
		options := make([]string, len(in.Options))
		for i, o := range in.Options {
			options[i] = string(o)
		}
		return strings.Join(options, "|")
	case in.Type == InputNumber:
		return "NUMBER"
	case in.Type == InputBool:
		return "true|false"
	}
	return anyText
}

// anyText is the placeholder of a value that can be any text.
const anyText = "TEXT"

func joinTexts(list []Text) string {
	all := make([]string, len(list))
	for i, t := range list {
		all[i] = string(t)
	}
	return strings.Join(all, ", ")
}

// CheckInputs returns the values that an answer to an approval gives, with the defaults of
// those that it leaves out. A rejection may leave out any, and gets no defaults.
func CheckInputs(asked []AskedInput, given map[string]Text, approves bool) (map[string]Text, error) {
	all := make(map[string]Text, len(asked))
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.IndexFunc(asked, func(in AskedInput) bool { return in.Name == name })
		if i < 0 {
			errs = append(errs, fmt.Errorf("the gate has no input %q; it has: %s", name, inputNames(asked)))
			continue
		}
		all[name] = given[name]
		errs = append(errs, asked[i].Check(given[name]))
	}
	for _, in := range asked {
		if _, has := all[in.Name]; has || !approves {
			continue
		}
		if in.Default == nil {
			errs = append(errs, &MissingInputError{Input: in})
			continue
		}
		all[in.Name] = *in.Default
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// MissingInputError says that an approval does not give a value that the gate asks for.
type MissingInputError struct{ Input AskedInput }

func (e *MissingInputError) Error() string {
	text := "the approval must give the input " + e.Input.Name
	if e.Input.Description != "" {
		text += " (" + string(e.Input.Description) + ")"
	}
	return fmt.Sprintf("%s: --input %s=%s", text, e.Input.Name, e.Input.Placeholder())
}

func inputNames(asked []AskedInput) string {
	names := make([]string, len(asked))
	for i, in := range asked {
		names[i] = in.Name
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}
