package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/runner"
)

// pollInterval is how often a log is looked at for more.
const pollInterval = 100 * time.Millisecond

// followed is a log that is still growing, or may be.
type followed struct {
	step    loggedStep
	attempt int
	offset  int64
	to      io.Writer // keeps what is unfinished of an escape sequence
}

// follow prints logs and what is added to them, until the session stops
// running or ctx ends. Attempts that begin meanwhile are followed too.
func (p *logPrinter) follow(ctx context.Context, st *checkpoint.State, steps []loggedStep, attempt int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var open []*followed
	for _, s := range steps {
		n := attempt
		if n == 0 {
			n = s.attempts
		}
		if n > 0 {
			open = append(open, &followed{step: s, attempt: n, to: p.writer()})
		}
	}
	begun, ended := p.watch(ctx, st.Seq)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case b := <-begun:
			if f := b.of(steps); f != nil && attempt == 0 {
				f.to = p.writer()
				open = append(open, f)
			}
		case <-ticker.C:
			if err := p.more(open); err != nil {
				return err
			}
		case err := <-ended:
			return errors.Join(err, p.more(open), ctx.Err())
		}
	}
}

// beginning says that an attempt at a workstream or gate begins.
type beginning struct {
	label   string
	attempt int
}

func (b beginning) of(steps []loggedStep) *followed {
	for _, s := range steps {
		if s.label == b.label {
			return &followed{step: s, attempt: b.attempt}
		}
	}
	return nil
}

// watch reports the attempts that begin after a commit, and the end of the
// session's run, or of ctx.
func (p *logPrinter) watch(ctx context.Context, from uint64) (<-chan beginning, <-chan error) {
	begun, ended := make(chan beginning), make(chan error, 1)
	go func() {
		for c, err := range p.store.Follow(ctx, p.prd, from+1) {
			if err != nil {
				if ctx.Err() != nil {
					err = nil
				}
				ended <- err
				return
			}
			for _, e := range c.Events {
				b, ok := attemptOf(e)
				if !ok {
					continue
				}
				select {
				case begun <- b:
				case <-ctx.Done():
					ended <- nil
					return
				}
			}
		}
		ended <- nil
	}()
	return begun, ended
}

func attemptOf(e checkpoint.Event) (beginning, bool) {
	switch e := e.(type) {
	case checkpoint.WorkstreamStarted:
		return beginning{e.Workstream, e.Attempt}, true
	case checkpoint.GateStarted:
		return beginning{e.Gate, e.Attempt}, true
	}
	return beginning{}, false
}

// more prints what was added to each log since the last look.
func (p *logPrinter) more(open []*followed) error {
	for _, f := range open {
		if err := p.added(f); err != nil {
			return fmt.Errorf("print the log of %s: %w", f.step.label, err)
		}
	}
	return nil
}

func (p *logPrinter) added(f *followed) error {
	file, err := runner.OpenLog(p.store.Layout().LogPath(p.prd, f.step.log, f.attempt))
	if errors.Is(err, os.ErrNotExist) {
		return nil // not begun yet, or a gate without a process
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read from
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() <= f.offset {
		return nil
	}
	n := info.Size() - f.offset
	if err := p.copy(f.step.label, f.attempt, f.to, io.NewSectionReader(file, f.offset, n)); err != nil {
		return err
	}
	f.offset += n
	return nil
}
