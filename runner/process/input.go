package process

import (
	"fmt"
	"io"
	"os"
)

// input is the standard input of a task: a text that comes through a pipe.
type input struct {
	child   *os.File // the end that the process reads
	feed    *os.File
	written chan struct{} // closed when no more is written
}

// openInput returns the standard input of a task, nil if it is empty. It writes the text in
// a goroutine of its own, so that the process need not read it.
func openInput(text string) (*input, error) {
	if text == "" {
		return nil, nil
	}
	child, feed, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the standard input: %w", err)
	}
	in := &input{child: child, feed: feed, written: make(chan struct{})}
	go func() {
		defer close(in.written)
		// The process may end, or close its input, before it has read everything.
		_, _ = io.WriteString(feed, text)
		_ = feed.Close()
	}()
	return in, nil
}

// release closes the end that the process reads, once the process has it.
func (in *input) release() error {
	if in == nil {
		return nil
	}
	if err := in.child.Close(); err != nil {
		return fmt.Errorf("close the standard input: %w", err)
	}
	return nil
}

// finish ends the writing. It is called when the task has ended.
func (in *input) finish() {
	if in == nil {
		return
	}
	_ = in.child.Close() // it is still open if the process was never started
	_ = in.feed.Close()
	<-in.written
}
