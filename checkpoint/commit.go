package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"prdrunner/checkpoint/store"
)

// FormatVersion is the version of everything that this package writes.
const FormatVersion = "1.1"

// readable reports whether a version is one that this package reads: its own,
// and every one before it, whose files are a subset of today's.
func readable(version string) bool { return version == FormatVersion || version == "1.0" }

// ErrLine says that a line of a journal is not what was written.
var ErrLine = errors.New("not a valid journal line")

// genesis is the sum before the first line.
const genesis = "0000000000000000000000000000000000000000000000000000000000000000"

// Commit is a line of the journal: events that became durable together, or,
// in the first line of a compacted journal, the state so far.
type Commit struct {
	Seq    uint64
	Time   time.Time // of the first event
	Events []Event
	// AfterMS is how many milliseconds after Time each event happened; nil
	// when all are 0.
	AfterMS []int64
	State   *State
	Prev    string // the sum of the line before
	Sum     string
}

// At returns when the i-th event happened.
func (c *Commit) At(i int) time.Time {
	if i < len(c.AfterMS) {
		return c.Time.Add(time.Duration(c.AfterMS[i]) * time.Millisecond)
	}
	return c.Time
}

// encoder turns commits into lines. It keeps one buffer.
type encoder struct {
	buf  bytes.Buffer
	json *json.Encoder
}

func newEncoder() *encoder {
	e := &encoder{}
	e.json = json.NewEncoder(&e.buf)
	e.json.SetEscapeHTML(false)
	return e
}

// line returns the commit as a line with its newline, and sets its Sum. The
// bytes are valid until the next call. The line may be longer than a reader
// takes: fits tells.
func (e *encoder) line(c *Commit) ([]byte, error) {
	e.buf.Reset()
	e.buf.WriteString(`{"seq":`)
	e.buf.Write(strconv.AppendUint(e.buf.AvailableBuffer(), c.Seq, 10))
	e.buf.WriteString(`,"time":"`)
	e.buf.Write(c.Time.AppendFormat(e.buf.AvailableBuffer(), time.RFC3339Nano))
	e.buf.WriteByte('"')
	if err := e.body(c); err != nil {
		return nil, fmt.Errorf("encode commit %d: %w", c.Seq, err)
	}
	e.buf.WriteString(`,"prev":"`)
	e.buf.WriteString(c.Prev)
	e.buf.WriteByte('"')
	sum := sha256.Sum256(e.buf.Bytes())
	c.Sum = hex.EncodeToString(sum[:])
	e.buf.WriteString(`,"sum":"`)
	e.buf.WriteString(c.Sum)
	e.buf.WriteString("\"}\n")
	return e.buf.Bytes(), nil
}

// fits refuses a line that could not be read back.
func fits(c *Commit, line []byte) error {
	if len(line) > store.MaxRecord {
		return fmt.Errorf("commit %d has %d bytes; a line of the journal has at most %d", c.Seq, len(line), store.MaxRecord)
	}
	return nil
}

// maxEvents is how many bytes the events of one commit may have: what a line
// holds besides has a few hundred.
const maxEvents = store.MaxRecord - 1<<10

// eventRoom is what an event takes at most besides its own fields: its kind, when it
// happened, and what stands between two events.
const eventRoom = 128

// TooLargeError says that something can't be recorded, since no line of a journal
// holds it.
type TooLargeError struct {
	Kind  Kind
	Bytes int // as it would be recorded
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s has %d bytes as it is recorded; at most %d are possible", e.Kind, e.Bytes, maxEvents)
}

// Recordable returns a *TooLargeError of an event that no journal can hold.
func Recordable(event Event) error {
	_, err := eventSize(event)
	return err
}

// eventSize returns how many bytes an event has in a commit, at most.
func eventSize(event Event) (int, error) {
	var n counter
	enc := json.NewEncoder(&n)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(event); err != nil {
		return 0, fmt.Errorf("encode %s: %w", event.Kind(), err)
	}
	size := int(n) + eventRoom
	if size > maxEvents {
		return 0, &TooLargeError{Kind: event.Kind(), Bytes: size}
	}
	return size, nil
}

// counter counts what is written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func (e *encoder) body(c *Commit) error {
	if c.State != nil {
		e.buf.WriteString(`,"state":`)
		return e.value(c.State)
	}
	e.buf.WriteString(`,"events":[`)
	for i, event := range c.Events {
		if i > 0 {
			e.buf.WriteByte(',')
		}
		var after int64
		if i < len(c.AfterMS) {
			after = c.AfterMS[i]
		}
		if err := e.event(event, after); err != nil {
			return err
		}
	}
	e.buf.WriteByte(']')
	return nil
}

// event writes an event with its kind, and when it happened, in front.
func (e *encoder) event(event Event, after int64) error {
	e.buf.WriteString(`{"kind":"`)
	e.buf.WriteString(string(event.Kind()))
	e.buf.WriteByte('"')
	if after != 0 {
		e.buf.WriteString(`,"after_ms":`)
		e.buf.Write(strconv.AppendInt(e.buf.AvailableBuffer(), after, 10))
	}
	mark := e.buf.Len()
	if err := e.value(event); err != nil {
		return fmt.Errorf("encode %s: %w", event.Kind(), err)
	}
	fields := e.buf.Bytes()[mark:]
	if len(fields) == len("{}") {
		e.buf.Truncate(mark)
		e.buf.WriteByte('}')
		return nil
	}
	fields[0] = ','
	return nil
}

// value writes a value without the newline that json.Encoder adds.
func (e *encoder) value(v any) error {
	if err := e.json.Encode(v); err != nil {
		return err
	}
	e.buf.Truncate(e.buf.Len() - 1)
	return nil
}

// MarshalEvent returns the JSON of an event, its kind in front.
func MarshalEvent(event Event) ([]byte, error) {
	e := newEncoder()
	if err := e.event(event, 0); err != nil {
		return nil, err
	}
	return e.buf.Bytes(), nil
}
