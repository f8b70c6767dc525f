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
	if s.nextField("after_ms") {
		after = s.number(math.MaxInt64)
	}
	switch state.Kind(kind) {
	case state.KindWorkstreamStarted:
		event = state.WorkstreamStarted{Workstream: s.required("workstream").readText(), Attempt: s.required("attempt").readInt(), Digest: s.required("digest").digest()}
	case state.KindWorkstreamSucceeded:
		event = state.WorkstreamSucceeded{Workstream: s.required("workstream").readText(), Work: s.required("work").readWork()}
	case state.KindWorkstreamCompleted:
		event = s.completed()
	case state.KindGateStarted:
		event = state.GateStarted{Gate: s.required("gate").readText(), Attempt: s.required("attempt").readInt()}
	case state.KindGatePassed:
		event = s.passed()
	case state.KindCheckpointCreated:
		event = s.created()
	default:
		return nil, 0, 0
	}
	if s.closeObject(); s.off {
		return nil, 0, 0
	}
	return event, after, len(b) - len(s.rest)
}

func (s *eventScanner) completed() state.WorkstreamCompleted {
	e := state.WorkstreamCompleted{Workstream: s.required("workstream").readText()}
	if s.nextField("work") {
		work := s.readWork()
		e.Work = &work
	}
	return e
}

func (s *eventScanner) passed() state.GatePassed {
	v := state.Verdict{Gate: s.required("gate").readText(), Definition: s.required("definition").readText(), Judged: s.required("judged").readText(), Seen: s.readSeen()}
	return state.GatePassed{Verdict: v, DurationMS: s.required("duration_ms").number(math.MaxInt64)}
}

func (s *eventScanner) created() state.CheckpointCreated {
	e := state.CheckpointCreated{
		ID: s.required("id").readText(), Trigger: state.Trigger(s.required("trigger").readText()), Phase: s.textOf("phase"), Step: s.required("step").readInt(), StepName: s.textOf("step_name"),
		Reason: state.Text(s.textOf("reason")), Created: s.intField("created"), Modified: s.intField("modified"),
	}
	if s.nextField("git") {
		s.openObject()
		e.Git = &state.Git{Branch: state.Text(s.textOf("branch")), Commit: s.textOf("commit")}
		s.closeObject()
	}
	if s.nextField("removes") {
		s.readList(func() { e.Removes = append(e.Removes, s.readText()) })
	}
	e.Conflict = s.textOf("conflict")
	if s.nextField("as_captured") {
		e.AsCaptured = s.readTrue()
	}
	return e
}

func (s *eventScanner) readWork() (w state.Work) {
	s.openObject()
	w.Attempt, w.DurationMS, w.Digest = s.required("attempt").readInt(), s.required("duration_ms").number(math.MaxInt64), s.required("digest").digest()
	if s.nextField("outputs") {
		w.Outputs = textsOf[state.Text](s)
	}
	if s.nextField("artifacts") {
		s.readList(func() { w.Artifacts = append(w.Artifacts, s.artifact()) })
	}
	w.Summary, w.Location = state.Text(s.textOf("summary")), state.Text(s.textOf("location"))
	s.closeObject()
	return w
}

func (s *eventScanner) artifact() (a state.Artifact) {
	s.openObject()
	a.Path, a.Size = state.Text(s.required("path").readText()), s.required("size").number(math.MaxInt64)
	a.Mode, a.Digest = uint32(s.required("mode").number(math.MaxUint32)), s.required("digest").readText()
	a.Change = state.FileChange(s.textOf("change"))
	s.closeObject()
	return a
}

func (s *eventScanner) digest() (d state.Digest) {
	s.openObject()
	d.Definition, d.Inputs, d.Upstream = s.textOf("definition"), s.textOf("inputs"), s.textOf("upstream")
	if s.nextField("variables") {
		d.Variables = textsOf[string](s)
	}
	if s.nextField("files") {
		s.readList(func() {
			s.openObject()
			d.Files = append(d.Files, state.FileRef{Path: state.Text(s.required("path").readText()), Digest: s.textOf("digest")})
			s.closeObject()
		})
	}
	if s.nextField("results") {
		d.Results = textsOf[string](s)
	}
	d.Seen = s.readSeen()
	s.closeObject()
	return d
}

func (s *eventScanner) readSeen() *state.Seen {
	if !s.nextField("seen") {
		return nil
	}
	s.openObject()
	seen := &state.Seen{Seq: uint64(s.required("seq").number(math.MaxInt64))}
	if s.nextField("files") {
		s.readList(func() {
			s.openObject()
			seen.Files = append(seen.Files, state.SeenFile{
				Path: state.Text(s.required("path").readText()), Mode: uint32(s.required("mode").number(math.MaxUint32)), Digest: s.required("digest").readText(),
			})
			s.closeObject()
		})
	}
	s.closeObject()
	return seen
}

// eventScanner reads JSON in the form that this package writes: no spaces, fields in
// order, no empty values. At the first deviation it sets off; after that all its results
// are meaningless.
type eventScanner struct {
	rest  []byte
	fresh bool // an object was opened, and none of its fields has been read
	off   bool
}

// expect reads a byte that must come next.
func (s *eventScanner) expect(c byte) {
	if s.off = s.off || len(s.rest) == 0 || s.rest[0] != c; !s.off {
		s.rest = s.rest[1:]
	}
}

func (s *eventScanner) openObject()  { s.expect('{'); s.fresh = true }
func (s *eventScanner) closeObject() { s.expect('}'); s.fresh = false }

// nextField moves to the value of a field if that field comes next.
func (s *eventScanner) nextField(name string) bool {
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

// required moves to the value of a field that every such object has.
func (s *eventScanner) required(name string) *eventScanner {
	s.off = !s.nextField(name) || s.off
	return s
}

// textOf reads a text field, "" if it is absent.
func (s *eventScanner) textOf(name string) string {
	if !s.nextField(name) {
		return ""
	}
	return s.readText()
}

func (s *eventScanner) intField(name string) int {
	if !s.nextField(name) {
		return 0
	}
	return s.readInt()
}

// readText reads a string whose only escapes are of quotes and backslashes.
func (s *eventScanner) readText() string {
	s.expect('"')
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

func (s *eventScanner) readInt() int { return int(s.number(math.MaxInt)) }

// readTrue reads a field that is written only if it is true.
func (s *eventScanner) readTrue() bool {
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

// readList reads a list that is not empty, element by element.
func (s *eventScanner) readList(element func()) {
	s.expect('[')
	for element(); !s.off && len(s.rest) > 0 && s.rest[0] == ','; element() {
		s.expect(',')
	}
	s.expect(']')
}

// textsOf reads an object of texts that is not empty.
func textsOf[T ~string](s *eventScanner) map[string]T {
	all := make(map[string]T)
	s.expect('{')
	for more := true; more && !s.off; {
		name := s.readText()
		s.expect(':')
		all[name] = T(s.readText())
		if more = len(s.rest) > 0 && s.rest[0] == ','; more {
			s.expect(',')
		}
	}
	s.expect('}')
	return all
}
