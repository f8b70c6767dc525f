package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/journal"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// StreamFormat is the version of the lines that the JSON view prints.
const StreamFormat = "1.0"

// jsonView prints one JSON object a line: run.begin, then every event of every
// commit as it stands in the journal, run.warning in between, and run.end.
type jsonView struct {
	out output
	now func() time.Time
	buf bytes.Buffer
}

func newJSON(o Options) *jsonView { return &jsonView{out: output{w: o.Out}, now: o.Now} }

// head is what every line begins with.
type head struct {
	FormatVersion string    `json:"format_version"`
	Seq           uint64    `json:"seq,omitempty"` // of the commit, for events
	Time          time.Time `json:"time"`
	Kind          string    `json:"kind,omitempty"` // events bring their own
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
	Message checkpoint.Text `json:"message"`
}

type endLine struct {
	head
	Status     checkpoint.Status    `json:"status"`
	Error      *checkpoint.Failure  `json:"error,omitempty"`
	Failed     []checkpoint.Failure `json:"failed"`
	Pause      *checkpoint.Pause    `json:"pause,omitempty"`
	Signal     string               `json:"signal,omitempty"`
	DurationMS int64                `json:"duration_ms"`
	Next       []checkpoint.Text    `json:"next"`
}

// Err implements View.
func (v *jsonView) Err() error { return v.out.err }

func (v *jsonView) head(kind string) head {
	return head{FormatVersion: StreamFormat, Time: v.now().UTC(), Kind: kind}
}

// Begin implements runner.View.
func (v *jsonView) Begin(b runner.Beginning) {
	v.line(beginLine{
		head: v.head("run.begin"), PRD: b.PRD, Title: b.Title, Session: b.Session,
		Resumed: b.Resumed, Parallel: b.Parallel, Plan: b.Plan,
	})
	v.flush()
}

// Commit implements runner.View.
func (v *jsonView) Commit(c checkpoint.Commit) {
	for _, e := range c.Events {
		if err := v.event(c, e); err != nil {
			v.fail(err)
			return
		}
	}
	v.flush()
}

// Warn implements runner.View.
func (v *jsonView) Warn(message string) {
	v.line(warningLine{head: v.head("run.warning"), Message: checkpoint.Text(message)})
	v.flush()
}

// End implements runner.View.
func (v *jsonView) End(e runner.Ending) {
	line := endLine{
		head: v.head("run.end"), Status: e.Status, Error: e.Error, Failed: e.Failed, Pause: e.Pause,
		Signal: e.Signal, DurationMS: e.Duration.Milliseconds(), Next: e.Next,
	}
	if line.Failed == nil {
		line.Failed = []checkpoint.Failure{}
	}
	if line.Next == nil {
		line.Next = []checkpoint.Text{}
	}
	v.line(line)
	v.flush()
}

// event puts the head of a line before the event's own fields.
func (v *jsonView) event(c checkpoint.Commit, e checkpoint.Event) error {
	body, err := journal.MarshalEvent(e)
	if err != nil {
		return fmt.Errorf("print event %s: %w", e.Kind(), err)
	}
	if _, ok := e.(checkpoint.SessionStarted); ok {
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

// renameVersion makes room for the line's own format_version: the journal's is
// called journal_version here.
func renameVersion(body []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	fields["journal_version"] = fields["format_version"]
	delete(fields, "format_version")
	return json.Marshal(fields)
}

func (v *jsonView) line(x any) {
	b, err := json.Marshal(x)
	if err != nil {
		v.fail(fmt.Errorf("print line: %w", err))
		return
	}
	v.buf.Write(b)
	v.buf.WriteByte('\n')
}

func (v *jsonView) flush() {
	_, _ = v.out.Write(CleanJSON(v.buf.Bytes())) // kept for Err
	v.buf.Reset()
}

func (v *jsonView) fail(err error) {
	v.flush()
	if v.out.err == nil {
		v.out.err = err
	}
}
