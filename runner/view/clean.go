package view

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text from outside safe for a terminal. It removes escape sequences, and shows
// other control characters and invalid UTF-8 as \x1b, \u202e and so on. Newlines and tabs
// stay.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	var b bytes.Buffer
	c := NewCleaner(&b)
	_, _ = io.WriteString(c, s) // a bytes.Buffer does not fail
	_ = c.Close()
	return b.String()
}

// OneLine cleans a text and puts it in one line: a newline is shown as \n, a tab as a
// space.
func OneLine(s string) string {
	s = Clean(strings.TrimRight(s, "\r\n"))
	return strings.ReplaceAll(strings.ReplaceAll(s, "\n", `\n`), "\t", " ")
}

// Lines returns the lines of a text, cleaned, without empty ones at its beginning and end. A text
// without any has none.
func Lines(s string) []string {
	s = strings.Trim(Clean(s), "\n")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// FirstLine returns the first of the lines of a text, with "…" behind it if there are more. It is for places
// that have room for one line.
func FirstLine(s string) string {
	lines := Lines(s)
	switch len(lines) {
	case 0:
		return ""
	case 1:
		return OneLine(lines[0])
	}
	return strings.TrimRight(OneLine(lines[0]), " ") + " …"
}

func isClean(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isPlain(s[i]) {
			return false
		}
	}
	return true
}

// cleanerState is the position in an escape sequence.
type cleanerState int

const (
	ground       cleanerState = iota
	escape                    // after ESC
	intermediate              // after ESC and an intermediate byte
	control                   // in a control sequence: ESC [ …
	text                      // in a string: ESC ] …, ended by BEL or ESC \
	textEscape                // after ESC in a string
)

// Cleaner is a writer that cleans a stream, as Clean does a text, and writes the result to
// another writer. A sequence may be split between writes. The end of a line ends every
// sequence, so that an open one cannot hide the following lines.
type Cleaner struct {
	w       io.Writer
	reveal  bool // show escape sequences instead of removing them
	state   cleanerState
	partial []byte // the first bytes of an incomplete character
	cr      bool   // the last byte was a carriage return
	out     bytes.Buffer
}

// NewCleaner returns a Cleaner that writes to w.
func NewCleaner(w io.Writer) *Cleaner { return &Cleaner{w: w} }

// NewRevealer returns a Cleaner that shows escape sequences instead of removing them. It
// serves messages. An escape sequence there is probably an attack, and removing an open
// sequence would remove the rest of the line.
func NewRevealer(w io.Writer) *Cleaner { return &Cleaner{w: w, reveal: true} }

// Write implements io.Writer.
func (c *Cleaner) Write(b []byte) (int, error) {
	c.out.Reset()
	c.out.Grow(len(b))
	for rest := b; len(rest) > 0; {
		if n := c.plainPrefix(rest); n > 0 {
			c.out.Write(rest[:n])
			rest = rest[n:]
			continue
		}
		c.writeByte(rest[0])
		rest = rest[1:]
	}
	if _, err := c.w.Write(c.out.Bytes()); err != nil {
		return 0, err
	}
	return len(b), nil
}

// plainPrefix returns how many of the first bytes are written unchanged.
func (c *Cleaner) plainPrefix(b []byte) int {
	if c.state != ground || c.cr || len(c.partial) > 0 {
		return 0
	}
	n := 0
	for n < len(b) && isPlain(b[n]) {
		n++
	}
	return n
}

// isPlain reports whether a terminal only shows a byte.
func isPlain(b byte) bool { return b >= ' ' && b < 0x7f || b == '\n' || b == '\t' }

// Close writes an incomplete character.
func (c *Cleaner) Close() error {
	c.out.Reset()
	c.flushPartial()
	_, err := c.w.Write(c.out.Bytes())
	return err
}

func (c *Cleaner) writeByte(x byte) {
	if x == '\n' {
		c.flushPartial()
		c.state, c.cr = ground, false
		c.out.WriteByte('\n')
		return
	}
	if c.cr { // without a newline, a carriage return lets a line overwrite itself
		c.cr = false
		if c.reveal {
			c.out.WriteString(`\x0d`)
		} else {
			c.out.WriteByte('\n')
		}
	}
	switch c.state {
	case ground:
		c.ground(x)
	case escape:
		c.state = afterEscape(x)
	case intermediate:
		if x < 0x20 || x > 0x2f {
			c.state = ground
		}
	case control:
		if x < 0x20 || x > 0x3f {
			c.state = ground
		}
	case text:
		switch x {
		case 0x07:
			c.state = ground
		case 0x1b:
			c.state = textEscape
		}
	case textEscape:
		c.state = text
		if x == '\\' {
			c.state = ground
		}
	}
}

func afterEscape(x byte) cleanerState {
	switch {
	case x == '[':
		return control
	case x == ']' || x == 'P' || x == 'X' || x == '^' || x == '_':
		return text
	case x >= 0x20 && x <= 0x2f:
		return intermediate
	case x == 0x1b:
		return escape
	}
	return ground
}

func (c *Cleaner) ground(x byte) {
	if len(c.partial) > 0 || x >= utf8.RuneSelf {
		c.character(x)
		return
	}
	switch {
	case x == 0x1b && !c.reveal:
		c.state = escape
	case x == '\r':
		c.cr = true
	case x == '\t' || x >= ' ' && x < 0x7f:
		c.out.WriteByte(x)
	default:
		fmt.Fprintf(&c.out, `\x%02x`, x)
	}
}

// character collects the bytes of a character that is not ASCII.
func (c *Cleaner) character(x byte) {
	if len(c.partial) > 0 && x&0xc0 != 0x80 {
		c.flushPartial()
		c.ground(x)
		return
	}
	c.partial = append(c.partial, x)
	if !utf8.FullRune(c.partial) {
		return
	}
	r, size := utf8.DecodeRune(c.partial)
	if r == utf8.RuneError && size == 1 {
		c.flushPartial()
		return
	}
	c.partial = c.partial[:0]
	if controlsTerminal(r) {
		fmt.Fprintf(&c.out, `\u%04x`, r)
		return
	}
	c.out.WriteRune(r)
}

// controlsTerminal reports whether a terminal does more with a character than show it. The
// category Cf contains the characters that change the direction of writing.
func controlsTerminal(r rune) bool {
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) && r != '\u200d' || r == '\u2028' || r == '\u2029'
}

func (c *Cleaner) flushPartial() {
	for _, x := range c.partial {
		fmt.Fprintf(&c.out, `\x%02x`, x)
	}
	c.partial = c.partial[:0]
}
