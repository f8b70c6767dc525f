// Package mask hides sensitive values in a stream of bytes.
//
// A Masker is made once from the values; its Writer then replaces each of their
// occurrences by "***", however the stream is cut into writes. A value is
// recognised as it is and in the forms listed at forms (forms.go). The search is
// one automaton for all of them (automaton.go), so its time does not depend on
// how many there are.
//
// What can't be masked: a value that the program has changed otherwise
// (compressed, encrypted, hashed, encoded twice, its letters in another case,
// spread over lines in a way of its own, interleaved with the output of another
// process), a part of a value other than its lines, one of more than 1 KiB in the
// lines that Base64 of something longer was broken into, and at either end of a
// value's Base64 form the character that it shares with its neighbours, and up
// to two more where a line ends right behind them.
package mask

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// Replacement stands in place of a sensitive value.
	Replacement = "***"
	// MinLength is the length in bytes, without surrounding white space, below
	// which a value is refused: masking it would blot out much else, and
	// where that was blotted out would give it away.
	MinLength = 4
)

// ErrTooShort is returned by New for values that are too short to be masked.
var ErrTooShort = errors.New("too short to be masked")

// Secret is a sensitive value. Its name is used in errors only.
type Secret struct {
	Name  string
	Value string
}

// Masker hides a set of sensitive values. It is immutable, and safe for use by
// several goroutines.
type Masker struct {
	automaton *automaton
}

// New returns a Masker for the secrets. It names all that are too short, and
// nothing of their values.
func New(secrets []Secret) (*Masker, error) {
	var errs []error
	patterns := map[string]bool{}
	for _, secret := range secrets {
		if len(strings.TrimSpace(secret.Value)) < MinLength {
			errs = append(errs, fmt.Errorf("mask the value of %s: %w: it has fewer than %d bytes", secret.Name, ErrTooShort, MinLength))
			continue
		}
		for _, form := range forms(secret.Value) {
			patterns[form] = true
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Masker{automaton: newAutomaton(patterns)}, nil
}

// Writer returns a writer that writes to w what is written to it, masked. It
// holds back what may yet turn out to be the beginning of a secret, which is at
// most as long as the longest form of one; Close writes that, and leaves w open.
// The writer is not safe for use by several goroutines.
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
