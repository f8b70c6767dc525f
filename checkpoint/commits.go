package checkpoint

import (
	"time"

	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
)

// commits collects the events of a session into commits, and encodes these as lines. An
// event goes through these stages:
//
//	addEvent → open → closed → dispatch → in flight → acknowledge
type commits struct {
	encoder *journal.Encoder
	room    int // bytes that the events of one commit may take: MaxEvents

	open     state.Commit    // the commit that further events are added to
	size     int             // bytes that the events of open take
	closed   []*state.Commit // commits before open, not dispatched either
	inFlight *state.Commit   // the commit that the writer is writing; nil: none

	dispatched uint64 // Seq of the last line that was dispatched
	sum        string // checksum of that line
}

func newCommits() commits {
	return commits{encoder: journal.NewEncoder(), room: journal.MaxEvents}
}

// continueFrom begins after a line that is durable.
func (c *commits) continueFrom(seq uint64, sum string) {
	c.open, c.size, c.closed = state.Commit{}, 0, nil
	c.dispatched, c.sum = seq, sum
}

// encodeFields encodes events. An event that is too large for a line is an error.
func encodeFields(events []state.Event) ([][]byte, error) {
	fields := make([][]byte, len(events))
	for i, e := range events {
		var err error
		if fields[i], err = journal.EncodeFields(e); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

// makeRoom closes the open commit if events do not fit into it, but fit into one of their
// own.
func (c *commits) makeRoom(fields [][]byte) {
	total := 0
	for _, f := range fields {
		total += len(f) + journal.EventRoom
	}
	if c.size+total > c.room && total <= c.room {
		c.closeOpen()
	}
}

// addEvent adds an event to the open commit, and returns that. If the event does not
// fit, a new commit begins.
func (c *commits) addEvent(e state.Event, fields []byte, now time.Time) *state.Commit {
	size := len(fields) + journal.EventRoom
	if c.size+size > c.room {
		c.closeOpen()
	}
	_, after := c.timeOfEvent(now)
	o := &c.open
	o.Events, o.Fields = append(o.Events, e), append(o.Fields, fields)
	c.size += size
	if after != 0 || o.AfterMS != nil {
		for len(o.AfterMS) < len(o.Events)-1 {
			o.AfterMS = append(o.AfterMS, 0)
		}
		o.AfterMS = append(o.AfterMS, after)
	}
	return o
}

// dropLast removes the event that was added last.
func (c *commits) dropLast() {
	o := &c.open
	o.Events, o.Fields = o.Events[:len(o.Events)-1], o.Fields[:len(o.Fields)-1]
}

// timeOfEvent returns the time of an event that is added now, and its offset in
// milliseconds from the time of the open commit. The first event begins that commit and
// sets its time.
func (c *commits) timeOfEvent(now time.Time) (time.Time, int64) {
	if len(c.open.Events) == 0 {
		c.open = state.Commit{Seq: c.nextSeq(), Time: now}
	}
	after := max(0, now.Sub(c.open.Time).Milliseconds())
	return c.open.Time.Add(time.Duration(after) * time.Millisecond), after
}

// nextSeq returns the sequence number of the commit that the next event belongs to.
func (c *commits) nextSeq() uint64 { return c.dispatched + uint64(len(c.closed)) + 1 }

// lastSeq returns the sequence number of the commit that the last event belongs to.
func (c *commits) lastSeq() uint64 {
	if !c.pending() {
		return c.dispatched
	}
	return c.nextSeq()
}

// pending reports whether there are events that were not dispatched.
func (c *commits) pending() bool { return len(c.open.Events) > 0 || len(c.closed) > 0 }

// closeOpen closes the open commit, to which no event is added any more. Further events go
// into the next one.
func (c *commits) closeOpen() {
	if len(c.open.Events) == 0 {
		return
	}
	closed := c.open
	c.closed = append(c.closed, &closed)
	c.open, c.size = state.Commit{}, 0
}

// dispatch takes the first commit that is not dispatched, which is in flight from then on,
// and returns its line. There must be one, and none may be in flight.
func (c *commits) dispatch() (seq uint64, line []byte, err error) {
	if len(c.closed) == 0 {
		c.closeOpen()
	}
	first := c.closed[0]
	first.Prev = c.sum
	line, err = c.encoder.Line(first)
	if err == nil {
		err = journal.CheckSize(first, line)
	}
	if err != nil {
		return 0, nil, err
	}
	c.closed = c.closed[1:]
	c.inFlight, c.dispatched, c.sum = first, first.Seq, first.Sum
	return first.Seq, line, nil
}

// acknowledge returns the commit that was in flight and is durable now.
func (c *commits) acknowledge() state.Commit {
	durable := *c.inFlight
	durable.Fields = nil // only needed for writing
	c.inFlight = nil
	return durable
}

// unsaved returns the commits that are not durable. They continue the journal.
func (c *commits) unsaved() []*state.Commit {
	c.closeOpen()
	if c.inFlight != nil {
		return append([]*state.Commit{c.inFlight}, c.closed...)
	}
	if len(c.closed) > 0 {
		c.closed[0].Prev = c.sum
	}
	return c.closed
}
