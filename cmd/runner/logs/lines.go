package logs

import (
	"bytes"
	"io"
	"regexp"

	"prdrunner/runner/stream"
	"prdrunner/runner/view"
)

// maxLine bounds the line that is kept until its end comes. A longer one is printed in parts.
const maxLine = 1 << 20

// lines is a writer that prints a log line by line: those that match, each with a prefix.
type lines struct {
	out    io.Writer
	match  *regexp.Regexp // nil: every line
	prefix func() string  // called when a line begins; nil: none
	begun  []byte         // of a line whose end has not come
	before string         // its prefix
	goesOn bool           // the beginning of the line was printed by showBegun
}

// Write implements io.Writer. What it is given is the end of a log only when Close is called.
func (l *lines) Write(b []byte) (int, error) {
	n := len(b)
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			break
		}
		line := b[:i]
		if len(l.begun) > 0 {
			line = append(l.begun, line...)
		} else {
			l.begin()
		}
		if err := l.print(line); err != nil {
			return 0, err
		}
		l.begun, b = l.begun[:0], b[i+1:]
	}
	if len(l.begun) == 0 && len(b) > 0 {
		l.begin()
	}
	l.begun = append(l.begun, b...)
	if len(l.begun) >= maxLine {
		return n, l.Close()
	}
	return n, nil
}

// begin takes note of the prefix of a line: of one that says when the line was read, its beginning counts.
func (l *lines) begin() {
	if l.prefix != nil {
		l.before = l.prefix()
	}
}

// showBegun prints the beginning of a line whose end has not come. Its rest is printed, too, when it has.
func (l *lines) showBegun() error {
	if len(l.begun) == 0 || !l.goesOn && l.match != nil && !matches(l.match, l.begun) {
		return nil
	}
	l.goesOn = true
	err := l.write(append(bytes.TrimRight(l.begun, "\r"), stream.Begun...))
	l.begun = l.begun[:0]
	return err
}

// Close prints a line that has no end.
func (l *lines) Close() error {
	if len(l.begun) == 0 {
		return nil
	}
	err := l.print(l.begun)
	l.begun = l.begun[:0]
	return err
}

func (l *lines) print(line []byte) error {
	rest := l.goesOn
	l.goesOn = false
	if rest && len(bytes.TrimRight(line, "\r")) == 0 || !rest && l.match != nil && !matches(l.match, line) {
		return nil
	}
	return l.write(line)
}

func (l *lines) write(line []byte) error {
	b := append(append([]byte(l.before), line...), '\n')
	_, err := l.out.Write(b)
	return err
}

// matches reports whether a line matches as people see it, without colours.
func matches(re *regexp.Regexp, line []byte) bool {
	return re.MatchString(view.Clean(string(bytes.TrimSuffix(line, []byte("\r")))))
}
