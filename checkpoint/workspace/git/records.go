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

// eachRecord runs a command and calls do for each record that it prints, while it
// runs: of a long list nothing but what do keeps is held. An error of do ends it.
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

// recordWriter takes records off what is written to it.
type recordWriter struct {
	do   func(record string) error
	rest []byte // of a record of which the end is still to come
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
	all := string(w.rest) // of which the records are parts
	w.rest = append(w.rest[:0], p[end:]...)
	for w.err == nil && all != "" {
		record, rest, _ := strings.Cut(all, "\x00")
		w.err, all = w.do(record), rest
	}
	return len(p), w.err
}
