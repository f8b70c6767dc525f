package cli

import (
	"context"
	"io"
)

// Input returns standard input, which fails with the error of ctx once ctx is done. The
// writer at the other end may never write, and a signal must be able to end the wait.
func (e *Environment) Input(ctx context.Context) io.Reader { return &input{ctx: ctx, from: e.Stdin} }

type input struct {
	ctx  context.Context
	from io.Reader
}

// maxInputRead bounds one read from standard input, in bytes.
const maxInputRead = 64 << 10

func (i *input) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	buffer := make([]byte, min(len(p), maxInputRead)) // the read may outlast the call
	go func() {
		n, err := i.from.Read(buffer)
		done <- read{buffer[:n], err}
	}()
	select {
	case r := <-done:
		return copy(p, r.data), r.err
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	}
}
