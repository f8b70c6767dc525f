package view

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
)

// lines reads lines, and lets a caller stop waiting. Where it is not known whether a line is there, a
// read cannot be interrupted, so that the line for an abandoned question stays pending. It
// answers the next question only if it was typed after that question.
type lines struct {
	in      *bufio.Reader
	pending chan line
}

type line struct {
	text string
	err  error
}

func (l *lines) readLine(ctx context.Context, ready func(ctx context.Context, again func()) error, again func()) (string, error) {
	if l.pending != nil {
		select {
		case got := <-l.pending:
			l.pending = nil
			if got.err != nil {
				return "", l.noAnswer(got.err)
			}
		default:
		}
	}
	if ready != nil && l.pending == nil && l.in.Buffered() == 0 { // while a read goes on, l.in belongs to it
		if err := ready(ctx, again); err != nil {
			return "", err
		}
	}
	if l.pending == nil {
		l.pending = make(chan line, 1)
		go func(to chan<- line) {
			text, err := l.in.ReadString('\n')
			to <- line{text, err}
		}(l.pending)
	}
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case got := <-l.pending:
		l.pending = nil
		if got.err != nil { // the user did not finish the line
			return "", l.noAnswer(got.err)
		}
		return got.text, nil
	}
}

func (l *lines) noAnswer(err error) error {
	if errors.Is(err, io.EOF) {
		return ErrNoAnswer
	}
	// A terminal that hung up returns EIO.
	return fmt.Errorf("%w: %w", ErrNoAnswer, err)
}
