package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"prdrunner/checkpoint/state"
)

// Every line ends with prevField and SumField, every event begins with kindField. Since
// lines are written in one form only, they can be split without parsing JSON.
const (
	kindField = `{"kind":"`
	SumField  = `,"sum":"`
	prevField = `,"prev":"`
	hexLen    = 2 * sha256.Size
	tailLen   = len(prevField) + hexLen + len(`"`) + len(SumField) + hexLen + len(`"}`)
)

// ErrIncomplete says that a line was cut off or that its sum is wrong. A write that was
// cut short leaves such a line.
var ErrIncomplete = fmt.Errorf("%w: incomplete", ErrLine)

// Frame is a line split into its parts. Its sum is verified, its content is not decoded.
type Frame struct {
	Seq   uint64
	time  []byte
	state bool // body is a state; otherwise it is the inside of the list of events
	body  []byte
	prev  string
	Sum   string
}

// ParseFrame verifies a line, given without its newline, and splits it. before is the sum
// of the previous line; the frame shares that string if it continues the line.
func ParseFrame(line []byte, before string) (Frame, error) {
	var f Frame
	if len(line) < tailLen {
		return f, fmt.Errorf("%w, too short", ErrIncomplete)
	}
	head, tail := line[:len(line)-tailLen], line[len(line)-tailLen:]
	prev, ok := bytes.CutPrefix(tail, []byte(prevField))
	if !ok || !bytes.HasPrefix(prev[hexLen:], []byte(`"`+SumField)) || !bytes.HasSuffix(prev, []byte(`"}`)) {
		return f, fmt.Errorf("%w, it does not end with prev and sum", ErrIncomplete)
	}
	if f.prev = before; string(prev[:hexLen]) != before {
		f.prev = string(prev[:hexLen])
	}
	f.Sum = string(prev[len(prev)-hexLen-len(`"}`) : len(prev)-len(`"}`)])
	sum := sha256.Sum256(line[:len(line)-len(SumField)-hexLen-len(`"}`)])
	var want [hexLen]byte
	if hex.Encode(want[:], sum[:]); string(want[:]) != f.Sum {
		return f, fmt.Errorf("%w, its sum is wrong", ErrIncomplete)
	}
	return f, f.parseHead(head)
}

func (f *Frame) parseHead(head []byte) error {
	rest, ok := bytes.CutPrefix(head, []byte(`{"seq":`))
	digits, rest, ok2 := bytes.Cut(rest, []byte(`,"time":"`))
	stamp, rest, ok3 := bytes.Cut(rest, []byte(`",`))
	if !ok || !ok2 || !ok3 {
		return fmt.Errorf("%w: it does not begin with seq and time", ErrLine)
	}
	seq, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return fmt.Errorf("%w: seq: %w", ErrLine, err)
	}
	f.Seq, f.time = seq, stamp
	if body, ok := bytes.CutPrefix(rest, []byte(`"state":`)); ok {
		f.state, f.body = true, body
		return nil
	}
	body, ok := bytes.CutPrefix(rest, []byte(`"events":[`))
	if !ok || !bytes.HasSuffix(body, []byte("]")) {
		return fmt.Errorf("%w: neither events nor state", ErrLine)
	}
	f.body = body[:len(body)-1]
	return nil
}

// Commit decodes the content. The result shares no memory with the line.
func (f *Frame) Commit() (state.Commit, error) {
	c := state.Commit{Seq: f.Seq, Prev: f.prev, Sum: f.Sum}
	at, err := time.Parse(time.RFC3339Nano, string(f.time))
	if err != nil {
		return c, fmt.Errorf("%w: time: %w", ErrLine, err)
	}
	c.Time = at.UTC()
	if f.state {
		c.State = &state.State{}
		if err := state.DecodeJSON(f.body, c.State); err != nil {
			return c, fmt.Errorf("%w: state: %w", ErrLine, err)
		}
		if !state.Readable(c.State.FormatVersion) {
			return c, &state.VersionError{Version: "format version " + c.State.FormatVersion}
		}
		if err := c.State.CheckStructure(); err != nil {
			return c, fmt.Errorf("%w: state: %w", ErrLine, err)
		}
		return c, nil
	}
	return c, f.events(&c)
}

func (f *Frame) events(c *state.Commit) error {
	c.Events = make([]state.Event, 0, bytes.Count(f.body, []byte(kindField)))
	for rest := f.body; len(rest) > 0; {
		event, after, n, err := nextEvent(rest)
		if err != nil {
			return err
		}
		if after != 0 && c.AfterMS == nil {
			c.AfterMS = make([]int64, len(c.Events), len(c.Events)+1)
		}
		if c.AfterMS != nil {
			c.AfterMS = append(c.AfterMS, after)
		}
		c.Events = append(c.Events, event)
		if rest = rest[n:]; len(rest) == 0 {
			return nil
		}
		if rest[0] != ',' || len(rest) == 1 {
			return fmt.Errorf("%w: events are not a list", ErrLine)
		}
		rest = rest[1:]
	}
	return nil
}

// nextEvent decodes the next event of a list and returns its length.
func nextEvent(list []byte) (event state.Event, after int64, size int, err error) {
	if event, after, size = scanEvent(list); event != nil {
		return event, after, size, nil
	}
	if size = objectLen(list); size == 0 {
		return nil, 0, 0, fmt.Errorf("%w: an event is not an object", ErrLine)
	}
	event, after, err = decodeEvent(list[:size])
	return event, after, size, err
}

// objectLen returns the length of the JSON object at the start of b; 0 if b starts with
// something else. It does not validate the inside.
func objectLen(b []byte) int {
	if len(b) == 0 || b[0] != '{' {
		return 0
	}
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		}
	}
	return 0
}

func decodeEvent(data []byte) (state.Event, int64, error) {
	var after int64
	kind, rest, ok := cutKind(data)
	if !ok {
		return nil, 0, fmt.Errorf("%w: an event does not begin with its kind", ErrLine)
	}
	if digits, ok := bytes.CutPrefix(rest, []byte(`,"after_ms":`)); ok {
		n := 0
		for n < len(digits) && digits[n] != ',' && digits[n] != '}' {
			n++
		}
		var err error
		if after, err = strconv.ParseInt(string(digits[:n]), 10, 64); err != nil {
			return nil, 0, fmt.Errorf("%w: after_ms: %w", ErrLine, err)
		}
	}
	event, err := DecodeEvent(state.Kind(kind), data)
	if err != nil {
		return nil, 0, fmt.Errorf("decode %s: %w", kind, err)
	}
	return event, after, nil
}

func cutKind(data []byte) (kind, rest []byte, ok bool) {
	rest, ok = bytes.CutPrefix(data, []byte(kindField))
	kind, rest, ok2 := bytes.Cut(rest, []byte(`"`))
	return kind, rest, ok && ok2
}
