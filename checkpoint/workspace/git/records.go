package git

import (
	"bytes"
	"context"
	"strings"
)

// records splits output that ends each record with a NUL.
func records(output []byte) []string {
	if len(output) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(output), "\x00"), "\x00")
}

// eachRecord runs a command, and calls do for each record that it prints while it runs,
// so that a long output is never held as a whole. An error of do ends the command.
func (g *Repository) eachRecord(ctx context.Context, c Command, do func(record string) error) error {
	w := &recordWriter{do: do}
	c.Stdout = w
	err := g.commander.Run(ctx, c)
	if w.err == nil && err == nil && len(w.rest) > 0 {
		w.err = do(string(w.rest))
	}
	if w.err != nil {
		return w.err
	}
	return explainLock(err)
}

// recordWriter splits the bytes that are written to it into records.
type recordWriter struct {
	do   func(record string) error
	rest []byte // the beginning of a record whose end is not written yet
	err  error  // of do
}

// Write implements io.Writer.
func (w *recordWriter) Write(p []byte) (int, error) {
	end := bytes.LastIndexByte(p, 0) + 1
	if end == 0 {
		w.rest = append(w.rest, p...)
		return len(p), nil
	}
	w.rest = append(w.rest, p[:end]...)
	all := string(w.rest) // the records share this string
	w.rest = append(w.rest[:0], p[end:]...)
	for w.err == nil && all != "" {
		record, rest, _ := strings.Cut(all, "\x00")
		w.err, all = w.do(record), rest
	}
	return len(p), w.err
}
