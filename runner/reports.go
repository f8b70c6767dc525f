package runner

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/mask"
	"prdrunner/runner/outputs"
	"prdrunner/runner/report"
)

// maxReportedCheckpoints is how many checkpoints one attempt can ask for, since retention
// keeps all of them.
const maxReportedCheckpoints = 100

// reports records what the processes of workstreams report while they run.
type reports struct {
	loop      *loop
	admission *ledger.Admission // nil until the first report, and after compareAnew

	broken    chan struct{} // closed when the journal can no longer be written
	breakOnce sync.Once
}

// compareAnew makes the next report be compared with the present state, since keys were set
// back.
func (rs *reports) compareAnew() { rs.admission = nil }

// reporting is what one attempt reports. Only the goroutine of the loop uses it.
type reporting struct {
	workstream string
	attempt    int
	path       string      // of the file that RUNNER_REPORT names, "" if it reports on standard output
	outputs    outputs.Set // outputs and metrics, which count once the attempt has succeeded

	checkpoints  int      // how many it asked for
	acknowledged []string // the files that acknowledge a report
}

func newReports(l *loop) *reports { return &reports{loop: l, broken: make(chan struct{})} }

// stop releases the goroutines that wait for a report to become durable.
func (rs *reports) stop() { rs.breakOnce.Do(func() { close(rs.broken) }) }

// follow reads what the workstream's attempt reports, until the follower is stopped. Another
// goroutine than the loop's calls it.
func (rs *reports) follow(rep *reporting, reader *report.Reader) *report.Follower {
	return report.Follow(reader, func(b report.Batch) {
		done := make(chan struct{})
		rs.loop.events <- func() { rs.receive(rep, b, func() { close(done) }) }
		select {
		case <-done:
		case <-rs.broken:
		}
	})
}

// receive records a batch, and then calls done. A report that leads to a checkpoint ends a
// commit: the rest of the batch is recorded after it.
func (rs *reports) receive(rep *reporting, b report.Batch, done func()) {
	l := rs.loop
	if l.recorder.Err() != nil {
		done()
		return
	}
	e := state.ReportsReceived{Workstream: rep.workstream, Attempt: rep.attempt, Lines: b.Lines}
	refused := report.Batch{Refused: b.Refused}
	var acks []acknowledgement
	for i, r := range b.Reports {
		name := r.Ack
		effect, err := rs.admit(rep, &r.Report)
		if err != nil {
			refused.Refuse(r.Line, err.Error())
		}
		if effect != ledger.Unchanged {
			e.Reports = append(e.Reports, r.Report)
		}
		if name != "" {
			acks = append(acks, acknowledgement{name: name, refusal: err})
		}
		if effect > ledger.Changed {
			e.Lines = r.Line
			before, after := refusedUpTo(refused.Refused, r.Line)
			rest := report.Batch{Lines: b.Lines, Reports: b.Reports[i+1:], Refused: after}
			rs.record(e, before)
			rs.checkpoint(rep, effect, r.Report, acks, func() { rs.receive(rep, rest, done) })
			return
		}
	}
	rs.record(e, refused.Refused)
	l.recorder.Add(func() { rep.acknowledge(acks); done() })
}

// refusedUpTo divides refused lines into those up to a line and those after it.
func refusedUpTo(all []state.RefusedReports, line int) (before, after []state.RefusedReports) {
	for _, r := range all {
		if r.Line <= line {
			before = append(before, r)
		} else {
			after = append(after, r)
		}
	}
	return before, after
}

// record adds the event, unless it would say nothing.
func (rs *reports) record(e state.ReportsReceived, refused []state.RefusedReports) {
	e.Reports, e.Refused = lastValues(e.Reports), refused
	if len(e.Reports)+len(e.Refused) > 0 {
		rs.loop.recorder.Add(nil, e)
	}
}

// lastValues leaves out metrics and outputs that a later report of the same event replaces.
func lastValues(all []ledger.Report) []ledger.Report {
	type named struct {
		ledger.Type
		name string
	}
	last := make(map[named]int)
	for i, r := range all {
		if r.Name != "" && !ledger.CountsSpending(r.Name) {
			last[named{r.Type, r.Name}] = i
		}
	}
	kept := all[:0]
	for i, r := range all {
		if at, named := last[named{r.Type, r.Name}]; !named || at == i {
			kept = append(kept, r)
		}
	}
	return kept
}

// checkpoint makes the checkpoint that a report leads to, and then calls next.
func (rs *reports) checkpoint(rep *reporting, effect ledger.Effect, r ledger.Report, acks []acknowledgement, next func()) {
	l := rs.loop
	switch effect {
	case ledger.ConflictStarted:
		l.session.CheckpointConflict(state.TriggerConflictStart, r.ID, l.git)
	case ledger.ConflictResolved:
		l.session.CheckpointConflict(state.TriggerConflictResolved, r.ID, l.git)
	case ledger.CheckpointAsked:
		l.createCheckpoint(r.Reason, func(refusal error) {
			if refusal != nil {
				l.warnUser(fmt.Sprintf("%s asked for a checkpoint, which was not made: %v", rep.workstream, refusal))
			}
			if len(acks) > 0 {
				acks[len(acks)-1].refusal = refusal
			}
			rep.acknowledge(acks)
			next()
		})
		return
	case ledger.Unchanged, ledger.Changed:
	}
	l.recorder.Add(func() { rep.acknowledge(acks); next() })
}

// admit masks a report and decides whether it is recorded.
func (rs *reports) admit(rep *reporting, r *ledger.Report) (ledger.Effect, error) {
	l := rs.loop
	if rs.admission == nil {
		rs.admission = l.session.State().Notes.Admission(l.session.State().Ledgers)
	}
	r.Ack = ""
	if err := rs.refuseSensitive(rep, r); err != nil {
		return ledger.Unchanged, err
	}
	if err := maskReport(r, l.opts.Mask); err != nil {
		return ledger.Unchanged, err
	}
	if r.Type == ledger.TypeCheckpoint {
		if rep.checkpoints++; rep.checkpoints > maxReportedCheckpoints {
			return ledger.Unchanged, fmt.Errorf("the attempt has asked for %d checkpoints already", maxReportedCheckpoints)
		}
	}
	effect, err := rs.admission.Admit(*r, ledger.Source{Workstream: rep.workstream}, l.opts.Now())
	if err != nil || effect == ledger.Unchanged {
		return ledger.Unchanged, err
	}
	return effect, rep.outputs.AddReported(r)
}

// refuseSensitive refuses a report of a sensitive output, and has the value hidden. What is
// reported is recorded while the workstream runs.
func (rs *reports) refuseSensitive(rep *reporting, r *ledger.Report) error {
	ws := rs.loop.pipeline.Workstream(rep.workstream)
	if r.Type != ledger.TypeOutput || ws == nil || !slices.Contains(ws.SensitiveOutputs, r.Name) {
		return nil
	}
	refused := fmt.Errorf("the output %s is sensitive, and reports are recorded; write it to RUNNER_OUTPUT", r.Name)
	if value := string(r.Text()); !mask.TooShort(value) {
		return errors.Join(refused, rs.loop.opts.Hide([]pipeline.Secret{{Variable: r.Name, Value: value}}))
	}
	return refused
}

// maskReport hides sensitive values. A name can't be masked, since it would then name
// something else.
func maskReport(r *ledger.Report, mask func(string) string) error {
	for _, name := range append([]string{r.ID, r.To, r.Name, r.Key}, r.Parties...) {
		if mask(name) != name {
			return errors.New("a name in it holds a sensitive value; choose another name")
		}
	}
	for _, t := range []*ledger.Text{&r.File, &r.Change, &r.Body, &r.Response, &r.State, &r.Reason} {
		if *t != "" {
			*t = ledger.Text(mask(string(*t)))
		}
	}
	r.Value = maskMetric(r.Value, mask)
	return nil
}

// acknowledgement tells the process that reported something that it is on record, or why
// not.
type acknowledgement struct {
	name    string
	refusal error
}

// acknowledge writes the acknowledgements. A process that gets none waits until it gives
// up, so an error is no reason to stop the run.
func (rep *reporting) acknowledge(acks []acknowledgement) {
	if rep.path == "" {
		return
	}
	for _, a := range acks {
		text := ""
		if a.refusal != nil {
			text = a.refusal.Error()
		}
		path := report.AckPath(rep.path, a.name)
		rep.acknowledged = append(rep.acknowledged, path)
		_ = report.WriteAck(path, text)
	}
}

// end removes the files of an attempt that has ended. If the journal can no longer be
// written, they stay for the next run, which records the rest of them.
func (rs *reports) end(rep *reporting) {
	if rep.path == "" || rs.loop.recorder.Err() != nil {
		return
	}
	for _, path := range append(rep.acknowledged, rep.path) {
		_ = os.RemoveAll(path)
	}
}
