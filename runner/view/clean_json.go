package view

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// CleanJSON makes encoded JSON safe for a terminal without changing its meaning: it escapes
// characters that control one. encoding/json escapes only those below U+0020.
func CleanJSON(encoded []byte) []byte {
	// Newlines occur only between values.
	hidden := func(r rune) bool { return r >= ' ' && controlsTerminal(r) }
	if !bytes.ContainsFunc(encoded, hidden) {
		return encoded
	}
	var b bytes.Buffer
	for len(encoded) > 0 {
		r, size := utf8.DecodeRune(encoded)
		switch {
		case !hidden(r):
			b.Write(encoded[:size])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		encoded = encoded[size:]
	}
	return b.Bytes()
}

// JSONCleaner is a writer that applies CleanJSON to each write. Each write must be complete
// values.
type JSONCleaner struct{ W io.Writer }

// Write implements io.Writer.
func (c JSONCleaner) Write(b []byte) (int, error) {
	if _, err := c.W.Write(CleanJSON(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}
