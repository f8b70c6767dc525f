package checkpoint

import (
	"context"
	"errors"
	"fmt"

	"prdrunner/checkpoint/journal"
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
	fields, total := x.encode(events)
	if x.bad == nil && x.size+total > x.room && total <= x.room {
		x.closePending()
	}
	for i, e := range events {
		if x.bad != nil {
			break
		}
		x.addEncoded(e, fields[i])
	}
	if !x.Pending() {
		return x.handed
	}
	return x.nextSeq()
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

// encode encodes events, and returns how many bytes they take of a commit together. An
// event that is too large for a line poisons the session.
func (x *Session) encode(events []state.Event) (fields [][]byte, total int) {
	fields = make([][]byte, len(events))
	for i, e := range events {
		var err error
		if fields[i], err = journal.EncodeFields(e); err != nil {
			x.poison(err)
			return nil, 0
		}
		total += len(fields[i]) + journal.EventRoom
	}
	return fields, total
}

func (x *Session) addEncoded(e state.Event, fields []byte) {
	if x.live == nil {
		x.poison(fmt.Errorf("add %s: %w", e.Kind(), errNoStart))
		return
	}
	x.captured, x.missed = x.captured && leavesFiles(e), x.missed && leavesFiles(e)
	size := len(fields) + journal.EventRoom
	if x.size+size > x.room {
		x.closePending()
	}
	_, after := x.timeOfEvent()
	c := &x.pending
	c.Events, c.Fields = append(c.Events, e), append(c.Fields, fields)
	x.size += size
	if after != 0 || c.AfterMS != nil {
		for len(c.AfterMS) < len(c.Events)-1 {
			c.AfterMS = append(c.AfterMS, 0)
		}
		c.AfterMS = append(c.AfterMS, after)
	}
	if e.Kind() == state.KindSessionResumed {
		x.runs = true
	}
	if err := x.live.ApplyEvent(c.Seq, c, len(c.Events)-1, e); err != nil {
		c.Events, c.Fields = c.Events[:len(c.Events)-1], c.Fields[:len(c.Fields)-1]
		x.poison(err)
	}
}

// nextSeq returns the sequence number of the commit that the next event belongs to.
func (x *Session) nextSeq() uint64 { return x.handed + uint64(len(x.closedCommits)) + 1 }

// closePending closes the pending commit, to which no event is added any more. Further events go
// into the next one.
func (x *Session) closePending() {
	if len(x.pending.Events) == 0 {
		return
	}
	c := x.pending
	x.closedCommits = append(x.closedCommits, &c)
	x.pending, x.size = state.Commit{}, 0
}

// Pending reports whether events were added that the writer does not have yet.
func (x *Session) Pending() bool { return len(x.pending.Events) > 0 || len(x.closedCommits) > 0 }

// Unacknowledged reports whether some events are not known to be durable.
func (x *Session) Unacknowledged() bool { return x.Pending() || x.flight != nil }

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
	if x.flight != nil {
		x.wanted = true
		return
	}
	if x.checkOwnership() != nil {
		return
	}
	if len(x.closedCommits) == 0 {
		x.closePending()
	}
	c := x.closedCommits[0]
	c.Prev = x.sum
	line, err := x.encoder.Line(c)
	if err == nil {
		err = journal.CheckSize(c, line)
	}
	if err != nil {
		x.poison(err)
		return
	}
	x.closedCommits = x.closedCommits[1:]
	x.flight, x.handed, x.sum = c, c.Seq, c.Sum
	x.wanted = x.Pending()
	x.writer.writeLines(c.Seq, line)
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
	case x.flight == nil || x.flight.Seq != a.Seq:
		return state.Commit{}, fmt.Errorf("acknowledge commit %d: it was not waited for", a.Seq)
	}
	// An owner that took the lock before this moment may have read the journal without
	// this line, or may append to another file.
	if err := x.checkOwnership(); err != nil {
		return state.Commit{}, err
	}
	c := *x.flight
	c.Fields = nil // only needed for writing
	x.flight = nil
	x.acked = c.Seq
	if err := x.derived.noteCommit(c); err != nil {
		x.poison(err)
		return state.Commit{}, x.bad
	}
	if x.wanted {
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

// checkOwnership poisons the session if its locks no longer keep other owners out: another process
// may already write the same files. The locks are checked before and after each commit,
// and before any other write.
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
	if unsaved := x.unsaved(); len(unsaved) > 0 {
		path, err := x.store.reader.Rescues.Write(x.prd, x.live.State.Session, unsaved)
		if err != nil {
			x.bad.Err = errors.Join(cause, err)
		} else {
			x.bad.Rescue = path
		}
	}
	x.writer.sendAck(Ack{Err: x.bad})
}

// unsaved returns the events that are not durable, as commits that continue the journal.
func (x *Session) unsaved() []*state.Commit {
	var commits []*state.Commit
	x.closePending()
	if x.flight != nil {
		commits = append(commits, x.flight)
	} else if len(x.closedCommits) > 0 {
		x.closedCommits[0].Prev = x.sum
	}
	commits = append(commits, x.closedCommits...)
	return commits
}

// writer makes lines durable in a goroutine that appends and syncs, and does nothing else.
type writer struct {
	log  store.Log
	jobs chan job
	acks chan Ack
	done chan struct{}

	closed bool
}

type job struct {
	seq  uint64
	line []byte
}

// newWriter starts a writer. At most one line is in flight at a time, so neither side ever
// blocks when it sends to the other.
func newWriter(log store.Log) *writer {
	w := &writer{log: log, jobs: make(chan job, 1), acks: make(chan Ack, 1), done: make(chan struct{})}
	go w.run()
	return w
}

func (w *writer) run() {
	defer close(w.done)
	for j := range w.jobs {
		w.acks <- Ack{Seq: j.seq, Err: w.log.Append(j.line)}
	}
}

func (w *writer) writeLines(seq uint64, line []byte) { w.jobs <- job{seq, line} }

// sendAck sends an Ack, unless the channel already holds one.
func (w *writer) sendAck(a Ack) {
	select {
	case w.acks <- a:
	default:
	}
}

// close ends the goroutine and closes the log. It first waits until the line in flight is
// written, and drops its Ack. Closing a closed writer does nothing: Close also closes a
// session whose archiving failed.
func (w *writer) close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	close(w.jobs)
	select {
	case <-w.acks:
	default:
	}
	<-w.done
	return w.log.Close()
}
