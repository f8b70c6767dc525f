package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
)

// pollInterval is the time between two checks of a log for new output.
const pollInterval = 100 * time.Millisecond

// followed is a log that may still grow.
type followed struct {
	step    step
	attempt int
	offset  int64
	to      io.Writer // keeps the unfinished part of an escape sequence
}

// follow prints logs and the output that is added to them, until the session stops running
// or ctx ends. It also follows attempts that begin in the meantime.
func (p *printer) follow(ctx context.Context, st *state.State, steps []step, attempt int) error {
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
	begun, ended := p.watchAttempts(ctx, st.Seq)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case b := <-begun:
			if f := b.followedStep(steps); f != nil && attempt == 0 {
				f.to = p.writer()
				open = append(open, f)
			}
		case <-ticker.C:
			if err := p.printAdded(open); err != nil {
				return err
			}
		case err := <-ended:
			return errors.Join(err, p.printAdded(open), ctx.Err())
		}
	}
}

// beginning reports that an attempt of a workstream or gate begins.
type beginning struct {
	label   string
	attempt int
}

func (b beginning) followedStep(steps []step) *followed {
	for _, s := range steps {
		if s.label == b.label {
			return &followed{step: s, attempt: b.attempt}
		}
	}
	return nil
}

// watchAttempts sends the attempts that begin after a commit to the first channel. It
// sends to the second one when the session stops running or ctx ends.
func (p *printer) watchAttempts(ctx context.Context, from uint64) (<-chan beginning, <-chan error) {
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

func attemptOf(e state.Event) (beginning, bool) {
	switch e := e.(type) {
	case state.WorkstreamStarted:
		return beginning{e.Workstream, e.Attempt}, true
	case state.GateStarted:
		return beginning{e.Gate, e.Attempt}, true
	}
	return beginning{}, false
}

// printAdded prints the output that was added to each log since the last call.
func (p *printer) printAdded(open []*followed) error {
	for _, f := range open {
		if err := p.printAddedTo(f); err != nil {
			return fmt.Errorf("print the log of %s: %w", f.step.label, err)
		}
	}
	return nil
}

func (p *printer) printAddedTo(f *followed) error {
	file, err := runner.OpenLog(p.store.Layout().LogPath(p.prd, f.step.log, f.attempt))
	if errors.Is(err, os.ErrNotExist) {
		return nil // the attempt has written no log yet, or the gate has no process
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // the file was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() <= f.offset {
		return nil
	}
	n := info.Size() - f.offset
	if err := p.copyLog(f.step.label, f.attempt, f.to, io.NewSectionReader(file, f.offset, n)); err != nil {
		return err
	}
	f.offset += n
	return nil
}
