// Package mask hides sensitive values in a stream of bytes.
//
// A Masker is created from the values that are known, and gets others with Add as soon as
// they are. Its Writer replaces each occurrence of a value
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
	"sync"
	"sync/atomic"
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

// Masker masks a set of sensitive values, which only grows. It is safe for concurrent use.
type Masker struct {
	automaton atomic.Pointer[automaton]

	mu       sync.Mutex // guards the fields below
	values   map[string]bool
	patterns map[string]bool
}

// New returns a Masker for the secrets. The error names all that are too short, without
// their values.
func New(secrets []Secret) (*Masker, error) {
	m := &Masker{values: map[string]bool{}, patterns: map[string]bool{}}
	m.automaton.Store(newAutomaton(m.patterns))
	if _, err := m.Add(secrets); err != nil {
		return nil, err
	}
	return m, nil
}

// Add makes the Masker mask more values, from now on. Writers that exist mask them in
// everything that they have not written yet. Add reports whether a value is new. The error
// names all secrets that are too short, without their values; then Add has added nothing.
func (m *Masker) Add(secrets []Secret) (bool, error) {
	var errs []error
	for _, secret := range secrets {
		if TooShort(secret.Value) {
			errs = append(errs, fmt.Errorf("mask the value of %s: %w: it has fewer than %d bytes", secret.Name, ErrTooShort, MinLength))
		}
	}
	if len(errs) > 0 {
		return false, errors.Join(errs...)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	added := false
	for _, secret := range secrets {
		if m.values[secret.Value] {
			continue
		}
		m.values[secret.Value], added = true, true
		for _, form := range formsOf(secret.Value) {
			m.patterns[form] = true
		}
	}
	if added {
		m.automaton.Store(newAutomaton(m.patterns))
	}
	return added, nil
}

// TooShort reports whether a value is too short to be masked.
func TooShort(value string) bool { return len(strings.TrimSpace(value)) < MinLength }

// Writer returns a writer that masks what it writes to w. It holds back bytes that may be
// the beginning of a secret, at most the length of the longest form. Close writes these
// bytes, and leaves w open. The writer is not safe for concurrent use.
func (m *Masker) Writer(w io.Writer) io.WriteCloser {
	return &writer{w: w, masker: m, automaton: m.automaton.Load()}
}

// String returns s masked.
func (m *Masker) String(s string) string {
	if !m.Any() {
		return s
	}
	var masked strings.Builder
	w := m.Writer(&masked)
	// A strings.Builder does not fail.
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return masked.String()
}
