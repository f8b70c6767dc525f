package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/stream"
)

// pollInterval is the time between two checks of a log for new output.
const pollInterval = 100 * time.Millisecond

// stampLayout is how --timestamps shows the time at which a line was read.
const stampLayout = "2006-01-02T15:04:05.000Z"

// follower prints the logs of attempts that run, and of those that begin.
type follower struct {
	*printer
	wanted func(step) bool // which steps are followed
	open   []*followed
	seen   map[string]bool // the names of the log files that were printed
}

// followed is the log of an attempt that runs.
type followed struct {
	selected
	file   *os.File // nil: there is no log yet
	offset int64
	to     logWriter
	quiet  stream.Quiet
	live   bool // what comes now was not there when following began
}

// follow prints logs and the output that is added to them, until no run is on or ctx ends. It also
// follows attempts that begin in the meantime.
func (p *printer) follow(ctx context.Context, after uint64, attempts []selected, wanted func(step) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &follower{printer: p, wanted: wanted, seen: map[string]bool{}}
	defer f.close()
	for _, a := range attempts {
		if err := f.add(a, false); err != nil {
			return err
		}
	}
	commits, ended := p.watch(ctx, after)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	return errors.Join(f.run(commits, ended, ticker.C), ctx.Err())
}

// watch sends the commits after one to the first channel. It sends to the second one when no run is
// on or ctx ends.
func (p *printer) watch(ctx context.Context, after uint64) (<-chan state.Commit, <-chan error) {
	commits, ended := make(chan state.Commit), make(chan error, 1)
	go func() {
		for c, err := range p.store.Follow(ctx, p.prd, after+1) {
			if err != nil {
				if ctx.Err() != nil {
					err = nil
				}
				ended <- err
				return
			}
			select {
			case commits <- c:
			case <-ctx.Done():
				ended <- nil
				return
			}
		}
		ended <- nil
	}()
	return commits, ended
}

// run prints what is added to the logs, at each tick and when an attempt ends.
func (f *follower) run(commits <-chan state.Commit, ended <-chan error, tick <-chan time.Time) error {
	for {
		select {
		case c := <-commits:
			if err := f.commit(c); err != nil {
				return err
			}
		case now := <-tick:
			if err := f.printAdded(now); err != nil {
				return err
			}
		case err := <-ended:
			for len(f.open) > 0 && err == nil {
				err = f.finish(f.open[0])
			}
			return err
		}
	}
}

// commit takes note of the attempts that begin and end.
func (f *follower) commit(c state.Commit) error {
	for _, e := range c.Events {
		var err error
		if a, begins := beginningOf(e); begins {
			err = f.begin(a)
		} else if h, ok := e.(state.HookEnded); ok {
			err = f.hookEnded(disk.HookLog(h.Event, h.Hook))
		} else if log := stream.Ends(e); log != "" {
			if i := slices.IndexFunc(f.open, func(a *followed) bool { return a.log == log }); i >= 0 {
				err = f.finish(f.open[i])
			}
		} else if _, anew := e.(state.SessionStarted); anew {
			f.seen = map[string]bool{}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// begin follows an attempt that begins, if it is wanted.
func (f *follower) begin(a selected) error {
	if !f.wanted(a.step) || f.seen[disk.LogName(a.log, a.attempt)] {
		return nil
	}
	if f.named {
		fmt.Fprintf(f.env.Stderr, "==> %s (attempt %d) <==\n", a.label, a.attempt)
	}
	return f.add(a, true)
}

// hookEnded prints the log of a hook that has run.
func (f *follower) hookEnded(log string) error {
	hooks, err := findHooks(f.store, f.prd)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(hooks, func(s step) bool { return s.log == log })
	if i < 0 {
		return nil
	}
	return f.begin(selected{hooks[i], hooks[i].attempts})
}

// add prints the log of an attempt. If the attempt runs, add also follows the log.
func (f *follower) add(a selected, live bool) error {
	f.seen[disk.LogName(a.log, a.attempt)] = true
	open := &followed{selected: a, live: live}
	open.to = f.writer(a, f.stampOf(open))
	f.open = append(f.open, open)
	err := f.printAddedTo(open)
	open.live = true
	if err == nil && !a.runs() {
		err = f.finish(open)
	}
	return err
}

// stampOf returns what stands before a line with --timestamps: when it was read, or that this is
// unknown, for a line that was there before.
func (f *follower) stampOf(a *followed) func() string {
	unknown := strings.Repeat(" ", len(stampLayout)-1) + "- "
	return func() string {
		switch {
		case !f.timestamps:
			return ""
		case !a.live:
			return unknown
		}
		return f.now().UTC().Format(stampLayout) + " "
	}
}

// printAdded prints the output that was added to each log since the last call, and lines that have had
// no end for a while. now is the time of the call.
func (f *follower) printAdded(now time.Time) error {
	for _, a := range f.open {
		had := a.offset
		if err := f.printAddedTo(a); err != nil {
			return err
		}
		if a.quiet.Long(now, a.offset > had) {
			if err := a.to.showBegun(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *follower) printAddedTo(a *followed) error {
	err := f.copyAdded(a)
	if err != nil {
		return fmt.Errorf("print the log of %s: %w", a.label, err)
	}
	return nil
}

func (f *follower) copyAdded(a *followed) error {
	begins := a.file == nil
	if begins {
		var err error
		a.file, err = f.openLog(a.step, a.attempt)
		if errors.Is(err, os.ErrNotExist) {
			a.file = nil
			return nil // the attempt has written no log yet, or the gate has no process
		}
		if err != nil {
			return err
		}
	}
	info, err := a.file.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if begins && !a.live {
		if a.offset, err = f.start(a.file, size); err != nil {
			return err
		}
	}
	if size <= a.offset {
		return nil
	}
	from := a.offset
	a.offset = size
	_, err = io.Copy(a.to, io.NewSectionReader(a.file, from, size-from))
	return err
}

// finish prints the rest of a log, and closes it.
func (f *follower) finish(a *followed) error {
	err := f.printAddedTo(a)
	f.open = slices.DeleteFunc(f.open, func(other *followed) bool { return other == a })
	if a.file == nil && a.attempt <= a.attempts && f.printedNothing(a.selected) || a.file != nil && a.offset == 0 {
		f.empty = append(f.empty, f.nameOf(a.selected))
	}
	if a.file != nil {
		err = errors.Join(err, a.file.Close())
	}
	return errors.Join(err, a.to.Close())
}

// close closes the logs that are still open, after an error.
func (f *follower) close() {
	for _, a := range f.open {
		if a.file != nil {
			_ = a.file.Close() // it was only read
		}
	}
}

// sayEnd tells how the run ended that was followed, and what to type next.
func (p *printer) sayEnd(wasOn bool) error {
	snap, err := p.store.Load(p.prd)
	if errors.Is(err, checkpoint.ErrNoSession) {
		fmt.Fprintf(p.env.Stderr, "The run of %s has ended, and its session was archived: `%s` lists it\n", p.prd, p.env.Command("checkpoint list "+p.prd+" --all"))
		return nil
	}
	if err != nil {
		return err
	}
	s := info.NewSessionStatus(p.env.CommandLine, p.env.Now(), p.prd, snap)
	_, err = fmt.Fprintln(p.env.Stderr, s.RunOver(wasOn))
	return err
}

// isOn reports whether a run is on.
func (p *printer) isOn() (bool, error) {
	owner, err := p.store.Owner(p.prd)
	return owner != nil, err
}
