// Package mask hides sensitive values in a stream of bytes.
//
// A Masker is created once from the values. Its Writer replaces each occurrence of a value
// by "***", even if writes split the value. It recognizes a value unchanged and in the
// forms that formsOf lists (forms.go). One automaton searches for all forms (automaton.go),
// so that the time does not depend on their number. Begin with New and Writer; to add an
// encoding, extend formsOf. The package does not decide which values are sensitive.
//
// It cannot mask:
//
//   - a value that the program changed in another way: compressed, encrypted, hashed,
//     encoded twice, in other letter case, split into lines differently, or interleaved
//     with the output of another process;
//   - a part of a value other than one of its lines;
//   - a value of more than 1 KiB in the wrapped Base64 of a longer text;
//   - at either end of a value's Base64 form, the character that it shares with its
//     neighbours, and up to two more if a line ends directly after them.
package mask

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// Replacement replaces a sensitive value.
	Replacement = "***"
	// MinLength is the minimum length of a value in bytes, without surrounding white space.
	// New refuses shorter values: masking them would hide much else, and the positions of
	// the replacements would reveal them.
	MinLength = 4
)

// ErrTooShort is returned by New for values that are too short to be masked.
var ErrTooShort = errors.New("too short to be masked")

// Secret is a sensitive value. Errors contain only its name.
type Secret struct {
	Name  string
	Value string
}

// Masker masks a set of sensitive values. It is immutable, and safe for concurrent use.
type Masker struct {
	automaton *automaton
}

// New returns a Masker for the secrets. The error names all that are too short, without
// their values.
func New(secrets []Secret) (*Masker, error) {
	var errs []error
	patterns := map[string]bool{}
	for _, secret := range secrets {
		if len(strings.TrimSpace(secret.Value)) < MinLength {
			errs = append(errs, fmt.Errorf("mask the value of %s: %w: it has fewer than %d bytes", secret.Name, ErrTooShort, MinLength))
			continue
		}
		for _, form := range formsOf(secret.Value) {
			patterns[form] = true
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Masker{automaton: newAutomaton(patterns)}, nil
}

// Writer returns a writer that masks what it writes to w. It holds back bytes that may be
// the beginning of a secret, at most the length of the longest form. Close writes these
// bytes, and leaves w open. The writer is not safe for concurrent use.
func (m *Masker) Writer(w io.Writer) io.WriteCloser {
	return &writer{w: w, automaton: m.automaton}
}

// String returns s masked.
func (m *Masker) String(s string) string {
	if !m.Any() {
		return s
	}
	var masked strings.Builder
	w := &writer{w: &masked, automaton: m.automaton}
	// A strings.Builder does not fail.
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return masked.String()
}
