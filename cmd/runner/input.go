package main

import (
	"context"
	"io"
)

// input is standard input until ctx is done: whoever is at its other end may
// never write, and a signal ends what waits for that.
func (e *environment) input(ctx context.Context) io.Reader { return &input{ctx: ctx, from: e.stdin} }

type input struct {
	ctx  context.Context
	from io.Reader
}

// maxInputRead is how much is read at once.
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
