package workspace

import (
	"bufio"
	"context"
	"errors"
	"io"
)

// conversation is a git process that is written to and read from while it runs.
type conversation struct {
	in     *bufio.Writer
	out    *bufio.Reader
	stdin  *io.PipeWriter
	stdout *io.PipeReader
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // of the process, once ended is closed
}

// conversationBuffer holds many small files, so that the process is seldom woken.
const conversationBuffer = 128 << 10

func (g *Git) converse(ctx context.Context, command Command) *conversation {
	ctx, cancel := context.WithCancel(ctx)
	stdinReader, stdin := io.Pipe()
	stdout, stdoutWriter := io.Pipe()
	c := &conversation{
		in:    bufio.NewWriterSize(stdin, conversationBuffer),
		out:   bufio.NewReaderSize(stdout, conversationBuffer),
		stdin: stdin, stdout: stdout, cancel: cancel, ended: make(chan struct{}),
	}
	command.Stdin, command.Stdout = stdinReader, stdoutWriter
	// Whoever is blocked in a pipe is released when ctx ends.
	release := context.AfterFunc(ctx, func() {
		stdinReader.CloseWithError(ctx.Err())
		stdout.CloseWithError(ctx.Err())
	})
	go func() {
		defer close(c.ended)
		c.err = g.commander.Run(ctx, command)
		release()
		stdinReader.CloseWithError(errors.Join(errors.New("git has ended"), c.err))
		stdoutWriter.CloseWithError(c.err)
	}()
	return c
}

// finish says that nothing more comes, and returns when the process has ended.
func (c *conversation) finish() error {
	defer c.cancel()
	flushed := c.in.Flush()
	_ = c.stdin.Close() // never fails
	_, read := io.Copy(io.Discard, c.out)
	<-c.ended
	if c.err != nil {
		return c.err
	}
	return errors.Join(flushed, read)
}

// abort ends the process.
func (c *conversation) abort() {
	c.cancel()
	<-c.ended
}

// failure returns why the process ended, if that explains an error in talking
// to it.
func (c *conversation) failure(err error) error {
	c.abort()
	var exit *ExitError
	if errors.As(c.err, &exit) && exit.Code >= 0 {
		return c.err
	}
	return err
}
