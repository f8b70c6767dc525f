package view

import (
	"bytes"
	"io"
)

// Neutralizer is a writer that changes lines so that a CI system takes no part of them for a command.
// Each write must be whole lines.
type Neutralizer struct {
	W      io.Writer
	Change func(line string) string
}

// Write implements io.Writer.
func (n Neutralizer) Write(b []byte) (int, error) {
	var changed []byte
	for line := range bytes.Lines(b) {
		text, newline := bytes.CutSuffix(line, []byte("\n"))
		changed = append(changed, n.Change(string(text))...)
		if newline {
			changed = append(changed, '\n')
		}
	}
	if _, err := n.W.Write(changed); err != nil {
		return 0, err
	}
	return len(b), nil
}
