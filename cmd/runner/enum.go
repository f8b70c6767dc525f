package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// enum is the value of a flag that takes one of a few words.
type enum struct {
	value   *string
	allowed []string
}

func newEnum(value *string, allowed ...string) *enum {
	return &enum{value: value, allowed: allowed}
}

// Set implements pflag.Value.
func (e *enum) Set(s string) error {
	if !slices.Contains(e.allowed, s) {
		return fmt.Errorf("must be %s", oneOf(e.allowed))
	}
	*e.value = s
	return nil
}

// String implements pflag.Value.
func (e *enum) String() string {
	if e.value == nil {
		return ""
	}
	return *e.value
}

// Type implements pflag.Value: the name of the argument in the help text.
func (e *enum) Type() string { return "WORD" }

// oneOf lists words for a message: `a, b or c`.
func oneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// nearest returns the candidate that the user most likely meant by a misspelt word, or "".
func nearest(word string, candidates []string) string {
	best, bestDistance := "", max(2, len(word)/4)+1
	for _, c := range candidates {
		if d := levenshtein.Distance(word, c, nil); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}
