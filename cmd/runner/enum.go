package main

import (
	"fmt"
	"slices"

	"prdrunner/cmd/runner/words"
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
		return fmt.Errorf("must be %s", words.OneOf(e.allowed))
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
