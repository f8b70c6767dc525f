package checkpoint

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Add applies events to the state at once. These events, and all that were added before,
// are durable with the commit whose sequence number Add returns. Add puts its events into
// one commit as far as one line of the journal can hold them. An event that does not apply
// to the state, or is too large for a line, poisons the session; Drain and Acknowledge
// return that error.
func (x *Session) Add(events ...state.Event) uint64 {
	events = x.marked(events)
	fields, err := encodeFields(events)
	if err != nil {
		x.poison(err)
	}
	if x.bad != nil {
		return x.commits.lastSeq()
	}
	x.commits.makeRoom(fields)
	for i, e := range events {
		if x.bad != nil {
			break
		}
		x.addEncoded(e, fields[i])
	}
	return x.commits.lastSeq()
}

// marked returns the events with the change of each artifact's file set.
func (x *Session) marked(events []state.Event) []state.Event {
	if x.live == nil {
		return events
	}
	m := make([]state.Event, len(events))
	for i, e := range events {
		m[i] = x.live.Files.Mark(x.live.State, e)
	}
	return m
}

func (x *Session) addEncoded(e state.Event, fields []byte) {
	if x.live == nil {
		x.poison(fmt.Errorf("add %s: %w", e.Kind(), errNoStart))
		return
	}
	x.captured, x.missed = x.captured && leavesFiles(e), x.missed && leavesFiles(e)
	c := x.commits.addEvent(e, fields, x.store.Now())
	if e.Kind() == state.KindSessionResumed {
		x.runs = true
	}
	if err := x.live.ApplyEvent(c.Seq, c, len(c.Events)-1, e); err != nil {
		x.commits.dropLast()
		x.poison(err)
	}
}

// Pending reports whether events were added that the writer does not have yet.
func (x *Session) Pending() bool { return x.commits.pending() }

// Unacknowledged reports whether some events are not known to be durable.
func (x *Session) Unacknowledged() bool { return x.Pending() || x.commits.inFlight != nil }

// Flush hands all added events to the writer, as one commit if a line can hold them. If
// the writer is busy, Acknowledge does that once the writer is free.
func (x *Session) Flush() {
	if x.bad != nil {
		x.writer.sendAck(Ack{Err: x.bad})
		return
	}
	if !x.Pending() {
		return
	}
	if x.commits.inFlight != nil {
		x.flushAgain = true
		return
	}
	if x.checkOwnership() != nil {
		return
	}
	seq, line, err := x.commits.dispatch()
	if err != nil {
		x.poison(err)
		return
	}
	x.flushAgain = x.Pending()
	x.writer.writeLine(seq, line)
}

// Acks returns the channel on which the writer reports durable commits. The caller must
// pass every Ack to Acknowledge.
func (x *Session) Acks() <-chan Ack { return x.writer.acks }

// Acknowledge processes an Ack, and returns the commit that is durable now.
func (x *Session) Acknowledge(a Ack) (state.Commit, error) {
	switch {
	case x.bad != nil:
		return state.Commit{}, x.bad
	case errors.Is(a.Err, store.ErrLogChanged) && x.checkOwnership() != nil: // report the lost lock: the new owner changed the log
		return state.Commit{}, x.bad
	case a.Err != nil:
		x.poison(a.Err)
		return state.Commit{}, x.bad
	case x.commits.inFlight == nil || x.commits.inFlight.Seq != a.Seq:
		return state.Commit{}, fmt.Errorf("acknowledge commit %d: it was not waited for", a.Seq)
	}
	// An owner that took the lock before this moment may have read the journal without
	// this line, or may append to another file.
	if err := x.checkOwnership(); err != nil {
		return state.Commit{}, err
	}
	c := x.commits.acknowledge()
	x.acked = c.Seq
	if err := x.derived.noteCommit(c); err != nil {
		x.poison(err)
		return state.Commit{}, x.bad
	}
	if x.flushAgain {
		x.Flush()
	}
	return c, nil
}

// Drain makes all added events durable, and returns the commits that became durable during
// the call.
func (x *Session) Drain(ctx context.Context) ([]state.Commit, error) {
	var commits []state.Commit
	for x.bad == nil && x.Unacknowledged() {
		x.Flush()
		if x.bad != nil {
			break
		}
		select {
		case a := <-x.writer.acks:
			c, err := x.Acknowledge(a)
			if err != nil {
				return commits, err
			}
			commits = append(commits, c)
		case <-ctx.Done():
			return commits, fmt.Errorf("wait for the journal: %w", ctx.Err())
		}
	}
	if x.bad != nil {
		return commits, x.bad
	}
	return commits, nil
}

// checkOwnership poisons the session if its locks no longer keep other owners out:
// another process may already write the same files. The locks are checked before and
// after each commit, and before any other write.
func (x *Session) checkOwnership() error {
	if x.bad == nil {
		if err := x.locks.checkHeld(); err != nil {
			x.poison(err)
		}
	}
	if x.bad != nil {
		return x.bad
	}
	return nil
}

// poison ends all writing, and saves the events that are not durable as a rescue copy.
func (x *Session) poison(cause error) {
	if x.bad != nil {
		return
	}
	x.bad = &PoisonedError{Err: cause}
	if unsaved := x.commits.unsaved(); len(unsaved) > 0 {
		path, err := x.store.reader.Rescues.Write(x.prd, x.live.State.Session, unsaved)
		if err != nil {
			x.bad.Err = errors.Join(cause, err)
		} else {
			x.bad.Rescue = path
		}
	}
	x.writer.sendAck(Ack{Err: x.bad})
}
