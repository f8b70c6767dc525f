package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// ErrLine says that a line of a journal does not match its checksum.
var ErrLine = errors.New("not a valid journal line")

// Genesis is the sum before the first line.
const Genesis = "0000000000000000000000000000000000000000000000000000000000000000"

// Encoder turns commits into lines. It keeps one buffer.
type Encoder struct {
	buf bytes.Buffer
}

// NewEncoder returns an encoder.
func NewEncoder() *Encoder { return &Encoder{} }

// Line returns the commit as a line with its newline, and sets its Sum. The
// bytes are valid until the next call. The line may be longer than a reader
// takes; see CheckSize.
func (e *Encoder) Line(c *state.Commit) ([]byte, error) {
	e.buf.Reset()
	e.buf.WriteString(`{"seq":`)
	e.buf.Write(strconv.AppendUint(e.buf.AvailableBuffer(), c.Seq, 10))
	e.buf.WriteString(`,"time":"`)
	e.buf.Write(c.Time.AppendFormat(e.buf.AvailableBuffer(), time.RFC3339Nano))
	e.buf.WriteByte('"')
	if err := e.encodeCommit(c); err != nil {
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

// CheckSize refuses a line that could not be read back.
func CheckSize(c *state.Commit, line []byte) error {
	if len(line) > store.MaxRecord {
		return fmt.Errorf("commit %d has %d bytes; a line of the journal has at most %d", c.Seq, len(line), store.MaxRecord)
	}
	return nil
}

// MaxEvents bounds the bytes of a commit's events. The rest of a line takes a few hundred
// bytes.
const MaxEvents = store.MaxRecord - 1<<10

// EventRoom bounds what an event takes in a line besides its own fields: kind, time,
// separators.
const EventRoom = 128

// TooLargeError says that an event does not fit in a line of a journal.
type TooLargeError struct {
	Kind  state.Kind
	Bytes int // as it would be recorded
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s has %d bytes as it is recorded; at most %d are possible", e.Kind, e.Bytes, MaxEvents)
}

// Recordable returns a *TooLargeError if an event does not fit in a line of a journal.
func Recordable(event state.Event) error {
	_, err := EncodeFields(event)
	return err
}

// EncodeFields returns the fields of an event as a JSON object, or a *TooLargeError. The
// event takes at most EventRoom bytes more in its commit.
func EncodeFields(event state.Event) ([]byte, error) {
	fields, err := state.EncodeJSON(event)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", event.Kind(), err)
	}
	if size := len(fields) + EventRoom; size > MaxEvents {
		return nil, &TooLargeError{Kind: event.Kind(), Bytes: size}
	}
	return fields, nil
}

func (e *Encoder) encodeCommit(c *state.Commit) error {
	if c.State != nil {
		e.buf.WriteString(`,"state":`)
		return state.Encode(&e.buf, c.State)
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
		var fields []byte
		if i < len(c.Fields) {
			fields = c.Fields[i]
		} else {
			var err error
			if fields, err = state.EncodeJSON(event); err != nil {
				return fmt.Errorf("encode %s: %w", event.Kind(), err)
			}
		}
		e.encodeEvent(event.Kind(), after, fields)
	}
	e.buf.WriteByte(']')
	return nil
}

// encodeEvent writes the kind and the time of an event, then its fields.
func (e *Encoder) encodeEvent(kind state.Kind, after int64, fields []byte) {
	e.buf.WriteString(`{"kind":"`)
	e.buf.WriteString(string(kind))
	e.buf.WriteByte('"')
	if after != 0 {
		e.buf.WriteString(`,"after_ms":`)
		e.buf.Write(strconv.AppendInt(e.buf.AvailableBuffer(), after, 10))
	}
	if len(fields) > len("{}") {
		e.buf.WriteByte(',')
	}
	e.buf.Write(fields[1:])
}

// MarshalEvent returns the JSON of an event, its kind first.
func MarshalEvent(event state.Event) ([]byte, error) {
	fields, err := state.EncodeJSON(event)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", event.Kind(), err)
	}
	e := NewEncoder()
	e.encodeEvent(event.Kind(), 0, fields)
	return e.buf.Bytes(), nil
}
