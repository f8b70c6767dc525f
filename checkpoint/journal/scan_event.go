package journal

import (
	"bytes"
	"math"
	"unicode/utf8"

	"prdrunner/checkpoint/state"
)

// Most events of a journal are of a few kinds, and Runner writes each kind in one form
// only. This file decodes exactly that form, in a tenth of the time of encoding/json.
// Everything else is left to encoding/json, which decodes or refuses it: the rules for
// what a journal may hold stay in one place. Both decoders must give the same event for
// the same bytes (FuzzScanEvent).

// scanEvent decodes the event at the start of b. It returns the event, its time after the
// first event of the commit in milliseconds, and its length. The event is nil if it is not
// in the form that the scanner knows.
func scanEvent(b []byte) (event state.Event, after int64, size int) {
	kind, rest, ok := cutKind(b)
	if !ok {
		return nil, 0, 0
	}
	s := &eventScanner{rest: rest}
	if s.field("after_ms") {
		after = s.number(math.MaxInt64)
	}
	switch state.Kind(kind) {
	case state.KindWorkstreamStarted:
		event = state.WorkstreamStarted{Workstream: s.must("workstream").text(), Attempt: s.must("attempt").int(), Digest: s.must("digest").digest()}
	case state.KindWorkstreamSucceeded:
		event = state.WorkstreamSucceeded{Workstream: s.must("workstream").text(), Work: s.must("work").work()}
	case state.KindWorkstreamCompleted:
		event = s.completed()
	case state.KindGateStarted:
		event = state.GateStarted{Gate: s.must("gate").text(), Attempt: s.must("attempt").int()}
	case state.KindGatePassed:
		event = s.passed()
	case state.KindCheckpointCreated:
		event = s.created()
	default:
		return nil, 0, 0
	}
	if s.close(); s.off {
		return nil, 0, 0
	}
	return event, after, len(b) - len(s.rest)
}

func (s *eventScanner) completed() state.WorkstreamCompleted {
	e := state.WorkstreamCompleted{Workstream: s.must("workstream").text()}
	if s.field("work") {
		work := s.work()
		e.Work = &work
	}
	return e
}

func (s *eventScanner) passed() state.GatePassed {
	v := state.Verdict{Gate: s.must("gate").text(), Definition: s.must("definition").text(), Judged: s.must("judged").text(), Seen: s.seen()}
	return state.GatePassed{Verdict: v, DurationMS: s.must("duration_ms").number(math.MaxInt64)}
}

func (s *eventScanner) created() state.CheckpointCreated {
	e := state.CheckpointCreated{
		ID: s.must("id").text(), Trigger: state.Trigger(s.must("trigger").text()), Phase: s.textOf("phase"), Step: s.must("step").int(), StepName: s.textOf("step_name"),
		Reason: state.Text(s.textOf("reason")), Created: s.intOf("created"), Modified: s.intOf("modified"),
	}
	if s.field("git") {
		s.open()
		e.Git = &state.Git{Branch: state.Text(s.textOf("branch")), Commit: s.textOf("commit")}
		s.close()
	}
	if s.field("removes") {
		s.list(func() { e.Removes = append(e.Removes, s.text()) })
	}
	if s.field("as_captured") {
		e.AsCaptured = s.yes()
	}
	return e
}

func (s *eventScanner) work() (w state.Work) {
	s.open()
	w.Attempt, w.DurationMS, w.Digest = s.must("attempt").int(), s.must("duration_ms").number(math.MaxInt64), s.must("digest").digest()
	if s.field("outputs") {
		w.Outputs = textsOf[state.Text](s)
	}
	if s.field("artifacts") {
		s.list(func() { w.Artifacts = append(w.Artifacts, s.artifact()) })
	}
	w.Summary, w.Location = state.Text(s.textOf("summary")), state.Text(s.textOf("location"))
	s.close()
	return w
}

func (s *eventScanner) artifact() (a state.Artifact) {
	s.open()
	a.Path, a.Size = state.Text(s.must("path").text()), s.must("size").number(math.MaxInt64)
	a.Mode, a.Digest = uint32(s.must("mode").number(math.MaxUint32)), s.must("digest").text()
	a.Change = state.FileChange(s.textOf("change"))
	s.close()
	return a
}

func (s *eventScanner) digest() (d state.Digest) {
	s.open()
	d.Definition, d.Inputs, d.Upstream = s.textOf("definition"), s.textOf("inputs"), s.textOf("upstream")
	if s.field("variables") {
		d.Variables = textsOf[string](s)
	}
	if s.field("files") {
		s.list(func() {
			s.open()
			d.Files = append(d.Files, state.FileRef{Path: state.Text(s.must("path").text()), Digest: s.textOf("digest")})
			s.close()
		})
	}
	if s.field("results") {
		d.Results = textsOf[string](s)
	}
	d.Seen = s.seen()
	s.close()
	return d
}

func (s *eventScanner) seen() *state.Seen {
	if !s.field("seen") {
		return nil
	}
	s.open()
	seen := &state.Seen{Seq: uint64(s.must("seq").number(math.MaxInt64))}
	if s.field("files") {
		s.list(func() {
			s.open()
			seen.Files = append(seen.Files, state.SeenFile{
				Path: state.Text(s.must("path").text()), Mode: uint32(s.must("mode").number(math.MaxUint32)), Digest: s.must("digest").text(),
			})
			s.close()
		})
	}
	s.close()
	return seen
}

// eventScanner reads JSON in the form that this package writes: no spaces, fields in
// order, no empty values. At the first deviation it sets off; after that all its results
// are meaningless.
type eventScanner struct {
	rest  []byte
	fresh bool // an object was opened and no field of it was read yet
	off   bool
}

// take reads a byte that must come next.
func (s *eventScanner) take(c byte) {
	if s.off = s.off || len(s.rest) == 0 || s.rest[0] != c; !s.off {
		s.rest = s.rest[1:]
	}
}

func (s *eventScanner) open()  { s.take('{'); s.fresh = true }
func (s *eventScanner) close() { s.take('}'); s.fresh = false }

// field moves to the value of a field if that field comes next.
func (s *eventScanner) field(name string) bool {
	rest := s.rest
	if !s.fresh {
		var more bool
		if rest, more = bytes.CutPrefix(rest, []byte(",")); !more {
			return false
		}
	}
	n := len(name) + len(`"":`)
	if len(rest) < n || rest[0] != '"' || string(rest[1:n-2]) != name || rest[n-2] != '"' || rest[n-1] != ':' {
		return false
	}
	s.rest, s.fresh = rest[n:], false
	return true
}

// must moves to the value of a field that every such object has.
func (s *eventScanner) must(name string) *eventScanner {
	s.off = !s.field(name) || s.off
	return s
}

// textOf reads a text field, "" if it is absent.
func (s *eventScanner) textOf(name string) string {
	if !s.field(name) {
		return ""
	}
	return s.text()
}

func (s *eventScanner) intOf(name string) int {
	if !s.field(name) {
		return 0
	}
	return s.int()
}

// text reads a string whose only escapes are of quotes and backslashes.
func (s *eventScanner) text() string {
	s.take('"')
	escapes, ascii := 0, true
	for i := 0; i < len(s.rest) && !s.off; i++ {
		switch c := s.rest[i]; {
		case c == '"':
			raw := s.rest[:i]
			s.rest = s.rest[i+1:]
			s.off = !ascii && !utf8.Valid(raw)
			return unescaped(raw, escapes)
		case c == '\\':
			escapes++
			i++
			s.off = i == len(s.rest) || s.rest[i] != '"' && s.rest[i] != '\\'
		case c < ' ':
			s.off = true
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	s.off = true
	return ""
}

// unescaped returns raw without the backslashes of its escapes.
func unescaped(raw []byte, escapes int) string {
	if escapes == 0 {
		return string(raw)
	}
	var most [128]byte // nearly always
	b := most[:0]
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' {
			i++
		}
		b = append(b, raw[i])
	}
	return string(b)
}

func (s *eventScanner) int() int { return int(s.number(math.MaxInt)) }

// yes reads a field that is written only if it is true.
func (s *eventScanner) yes() bool {
	rest, ok := bytes.CutPrefix(s.rest, []byte("true"))
	s.rest, s.off = rest, s.off || !ok
	return ok
}

// number reads a whole number from 0 to most.
func (s *eventScanner) number(most int64) (value int64) {
	n := 0
	for ; n < len(s.rest) && '0' <= s.rest[n] && s.rest[n] <= '9'; n++ {
		value = 10*value + int64(s.rest[n]-'0')
	}
	const digits = 18 // 18 digits always fit an int64
	if s.off = s.off || n == 0 || n > digits || n > 1 && s.rest[0] == '0' || value > most; !s.off {
		s.rest = s.rest[n:]
	}
	return value
}

// list reads a list that is not empty, element by element.
func (s *eventScanner) list(element func()) {
	s.take('[')
	for element(); !s.off && len(s.rest) > 0 && s.rest[0] == ','; element() {
		s.take(',')
	}
	s.take(']')
}

// textsOf reads an object of texts that is not empty.
func textsOf[T ~string](s *eventScanner) map[string]T {
	all := make(map[string]T)
	s.take('{')
	for more := true; more && !s.off; {
		name := s.text()
		s.take(':')
		all[name] = T(s.text())
		if more = len(s.rest) > 0 && s.rest[0] == ','; more {
			s.take(',')
		}
	}
	s.take('}')
	return all
}
