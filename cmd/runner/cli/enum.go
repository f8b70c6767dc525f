package cli

import (
	"fmt"
	"slices"

	"prdrunner/cmd/runner/words"
)

// Enum is the value of a flag that takes one of a few words.
type Enum struct {
	value   *string
	Allowed []string
}

// NewEnum returns a flag value that sets value to one of the allowed words.
func NewEnum(value *string, allowed ...string) *Enum {
	return &Enum{value: value, Allowed: allowed}
}

// Set implements pflag.Value.
func (e *Enum) Set(s string) error {
	if !slices.Contains(e.Allowed, s) {
		return fmt.Errorf("must be %s", words.OneOf(e.Allowed))
	}
	*e.value = s
	return nil
}

// String implements pflag.Value.
func (e *Enum) String() string {
	if e.value == nil {
		return ""
	}
	return *e.value
}

// Type implements pflag.Value: the name of the argument in the help text.
func (e *Enum) Type() string { return "WORD" }
