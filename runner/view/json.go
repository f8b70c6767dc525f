package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/stream"
)

// StreamFormat is the version of the lines that the JSON view prints.
const StreamFormat = "1.0"

// jsonView prints one JSON object per line: run.begin, then every event of every commit as
// in the journal, run.warning and run.output between them, and run.end.
type jsonView struct {
	out    output
	now    func() time.Time
	buf    bytes.Buffer
	markup bool           // a CI system reads the output
	stream *stream.Reader // nil: there are no lines of the kind run.output
}

func newJSON(o Options) *jsonView {
	v := &jsonView{out: output{w: o.Out}, now: o.Now, markup: o.Markup != nil || o.Neutral != nil}
	if o.Stream {
		v.stream = stream.New(o.Logs.Dir)
	}
	return v
}

// JSONLines returns an empty line of each kind that is no event, by its kind, for descriptions of their form.
func JSONLines() map[string]any {
	return map[string]any{"run.begin": beginLine{}, "run.warning": warningLine{}, "run.output": outputLine{}, "run.end": endLine{}}
}

// head holds the fields at the beginning of every line.
type head struct {
	FormatVersion string    `json:"format_version"`
	Seq           uint64    `json:"seq,omitempty"` // sequence number of the commit of an event
	Time          time.Time `json:"time"`
	Kind          string    `json:"kind,omitempty"` // empty for an event, which contains its kind
}

type beginLine struct {
	head
	PRD      string     `json:"prd"`
	Title    string     `json:"title"`
	Session  string     `json:"session"`
	Resumed  bool       `json:"resumed"`
	Parallel int        `json:"parallel"`
	Plan     *plan.Plan `json:"plan,omitempty"`
}

type warningLine struct {
	head
	Message state.Text `json:"message"`
}

// outputLine is a line that a step has printed, without its end.
type outputLine struct {
	head
	Step    string     `json:"step"` // as in stream.Line
	Attempt int        `json:"attempt"`
	Text    state.Text `json:"text"`
	GoesOn  bool       `json:"goes_on,omitempty"` // the line is longer, and the next one of the step has more of it
}

type endLine struct {
	head
	Status     state.Status    `json:"status"`
	Error      *state.Failure  `json:"error,omitempty"`
	Failed     []state.Failure `json:"failed"`
	Allowed    []state.Failure `json:"allowed,omitempty"`
	Pause      *state.Pause    `json:"pause,omitempty"`
	Signal     string          `json:"signal,omitempty"`
	DurationMS int64           `json:"duration_ms"`
	Next       []state.Text    `json:"next"`
}

// Err implements View.
func (v *jsonView) Err() error { return v.out.err }

// Stop implements runner.View. The event that records the interruption is printed when the run has
// ended.
func (v *jsonView) Stop(runner.Stopping) {}

// Await implements runner.View.
func (v *jsonView) Await(runner.Awaited) {}

// Close implements View.
func (v *jsonView) Close() {
	v.closeStream()
	v.writeBuffer()
}

func (v *jsonView) closeStream() {
	if v.stream != nil {
		v.stream.Close(v.printOutput)
	}
}

func (v *jsonView) printOutput(l stream.Line) {
	v.printLine(outputLine{head: v.newHead("run.output"), Step: l.Step, Attempt: l.Attempt, Text: state.Text(l.Text), GoesOn: l.GoesOn})
}

// tick prints what the steps have printed since the last time.
func (v *jsonView) tick() (next time.Duration) {
	v.stream.Poll(v.now(), v.printOutput)
	v.writeBuffer()
	return streamInterval
}

func (v *jsonView) newHead(kind string) head {
	return head{FormatVersion: StreamFormat, Time: v.now().UTC(), Kind: kind}
}

// Begin implements runner.View.
func (v *jsonView) Begin(b runner.Beginning) {
	v.printLine(beginLine{
		head: v.newHead("run.begin"), PRD: b.PRD, Title: b.Title, Session: b.Session,
		Resumed: b.Resumed, Parallel: b.Parallel, Plan: b.Plan,
	})
	v.writeBuffer()
}

// Commit implements runner.View.
func (v *jsonView) Commit(c state.Commit) {
	for _, e := range c.Events {
		if v.stream != nil {
			v.stream.Apply(e, v.printOutput)
		}
		if err := v.encodeEvent(c, e); err != nil {
			v.setError(err)
			return
		}
	}
	v.writeBuffer()
}

// Warn implements runner.View.
func (v *jsonView) Warn(message string) {
	v.printLine(warningLine{head: v.newHead("run.warning"), Message: state.Text(message)})
	v.writeBuffer()
}

// End implements runner.View.
func (v *jsonView) End(e runner.Ending) {
	v.closeStream()
	line := endLine{
		head: v.newHead("run.end"), Status: e.Status, Error: e.Error, Failed: e.Failed, Allowed: e.Allowed, Pause: e.Pause,
		Signal: e.Signal, DurationMS: e.Duration.Milliseconds(), Next: e.Next,
	}
	if line.Failed == nil {
		line.Failed = []state.Failure{}
	}
	if line.Next == nil {
		line.Next = []state.Text{}
	}
	v.printLine(line)
	v.writeBuffer()
}

// encodeEvent writes the head of a line, followed by the event's fields.
func (v *jsonView) encodeEvent(c state.Commit, e state.Event) error {
	body, err := journal.MarshalEvent(e)
	if err != nil {
		return fmt.Errorf("print event %s: %w", e.Kind(), err)
	}
	if _, ok := e.(state.SessionStarted); ok {
		if body, err = renameVersion(body); err != nil {
			return fmt.Errorf("print event %s: %w", e.Kind(), err)
		}
	}
	front, err := json.Marshal(head{FormatVersion: StreamFormat, Seq: c.Seq, Time: c.Time})
	if err != nil {
		return fmt.Errorf("print event %s: %w", e.Kind(), err)
	}
	v.buf.Write(front[:len(front)-1])
	v.buf.WriteByte(',')
	v.buf.Write(body[1:])
	v.buf.WriteByte('\n')
	return nil
}

// renameVersion renames the journal's format_version to journal_version, because the line
// has a format_version.
func renameVersion(body []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	fields["journal_version"] = fields["format_version"]
	delete(fields, "format_version")
	return json.Marshal(fields)
}

func (v *jsonView) printLine(x any) {
	b, err := json.Marshal(x)
	if err != nil {
		v.setError(fmt.Errorf("print line: %w", err))
		return
	}
	v.buf.Write(b)
	v.buf.WriteByte('\n')
}

func (v *jsonView) writeBuffer() {
	lines := CleanJSON(v.buf.Bytes())
	if v.markup { // only a string can hold that, and GitHub takes it for a command
		lines = bytes.ReplaceAll(lines, []byte("##["), []byte(`##\u005b`))
	}
	_, _ = v.out.Write(lines) // Err returns the error
	v.buf.Reset()
}

func (v *jsonView) setError(err error) {
	v.writeBuffer()
	if v.out.err == nil {
		v.out.err = err
	}
}
