package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// process is a git process that Runner writes to and reads from while it runs.
type process struct {
	in     *bufio.Writer
	out    *bufio.Reader
	stdin  *os.File
	stdout *os.File
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // of the process, once ended is closed
}

// processBuffer is the size of the buffers. It holds many small files, so that the
// process wakes seldom.
const processBuffer = 128 << 10

// startProcess starts a command. It uses pipes of the system: with other readers and
// writers, a goroutine would have to copy, and might wait for a process that has ended.
// Only the process holds the other ends, so that reads and writes here fail once it has
// ended.
func (g *Repository) startProcess(ctx context.Context, command Command) (*process, error) {
	childIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe to git: %w", err)
	}
	stdout, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a pipe to git: %w", err), childIn.Close(), stdin.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &process{
		in:    bufio.NewWriterSize(stdin, processBuffer),
		out:   bufio.NewReaderSize(stdout, processBuffer),
		stdin: stdin, stdout: stdout, cancel: cancel, ended: make(chan struct{}),
	}
	command.Stdin, command.Stdout = childIn, childOut
	go func() {
		defer close(c.ended)
		c.err = explainLock(g.commander.Run(ctx, command))
		_ = childIn.Close() // only the child used the two pipe ends
		_ = childOut.Close()
	}()
	return c, nil
}

// finish closes the process's input, and waits for the process to end.
func (c *process) finish() error {
	flushed := c.in.Flush()
	closed := c.stdin.Close()
	_, read := io.Copy(io.Discard, c.out)
	<-c.ended
	c.cancel()
	if c.err != nil {
		_ = c.stdout.Close()
		return c.err
	}
	return errors.Join(flushed, closed, read, c.stdout.Close())
}

// abort ends the process, and discards its remaining output.
func (c *process) abort() {
	c.cancel()
	<-c.ended
	_ = c.stdin.Close() // may be closed already
	_ = c.stdout.Close()
}

// abortWithError ends the process. It returns the exit error of the process, or else err.
func (c *process) abortWithError(err error) error {
	c.abort()
	var exit *ExitError
	if errors.As(c.err, &exit) && exit.Code >= 0 {
		return c.err
	}
	return err
}
