package runner

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// A workstream that calls a pipeline runs another process of Runner, which runs the called
// pipeline in a session of its own. To this engine that is a task like any other: it has a
// slot, a log and a timeout, and is stopped, repeated and found after a kill like any other.
// What differs is here: the command line, how the session of the called pipeline is chosen,
// and what the end of the process means.

// Call is the call of a pipeline, as the process that runs it needs it.
type Call struct {
	PRD         string // the id of the called pipeline's session
	Caller      state.Caller
	File        string // of the called pipeline, relative to the workspace
	Parallel    int    // the maximum number of its processes at once
	RaiseBudget bool   // budgets that are used up count anew
	NoCache     bool   // run its workstreams even if an earlier run has their results
}

// errNoSession reports that a called pipeline can't go on.
var errNoSession = errors.New("the session in which the called pipeline has begun")

// errCallEnded reports that a called pipeline has ended before it was asked something.
var errCallEnded = errors.New("it has ended")

// callEndGrace is how much longer than its processes a called pipeline may take to end.
const callEndGrace = 5 * time.Second

// The exit codes of a process that runs a called pipeline. Those of the command runner are the
// same.
const (
	ExitFailed = 1 // something has failed
	ExitPaused = 3 // the session waits for a person
)

// firstSignalCode is the first exit code that says which signal has ended a process.
const firstSignalCode = 128

// CallersVariable is the environment variable that names the sessions, separated by spaces, that
// call the pipeline to which a process belongs.
const CallersVariable = "RUNNER_CALLERS"

// CalledID returns the id of the session of the pipeline that a workstream calls.
func CalledID(prd string, ws *pipeline.Workstream) string {
	if ws.Name == ws.Block {
		return state.CalledID(prd, ws.Block, nil)
	}
	return state.CalledID(prd, ws.Block, &ws.Key)
}

// CalledOutputs evaluates the outputs of a called pipeline whose session is complete.
func CalledOutputs(p *pipeline.Pipeline, st *state.State) (map[string]string, error) {
	p, err := expandAll(p, st)
	if err != nil {
		return nil, err
	}
	planner := plan.New(p, st, plan.NewFacts(st), "", &plan.Chosen{})
	outputs, diags := p.Outputs(planner.Results(true, 0))
	if diags.HasErrors() {
		return nil, fmt.Errorf("evaluate the outputs of %s: %w", st.PRD, diags)
	}
	return outputs, nil
}

// newCall returns the call that the next attempt of a workstream makes.
func (n *node) newCall(called *pipeline.Called) *Call {
	l := n.loop
	st := l.session.State()
	rec := st.Workstream(n.ws.Name)
	id := rec.Call
	// Artifacts that were edited or are gone must be made again, whatever else has changed.
	goesOn := len(l.facts.Conflicts[n.ws.Name]) == 0 && plan.CallGoesOn(rec, n.step.Changes, n.digest)
	if !goesOn {
		id = uuid.NewString()
	}
	// A call on record has begun, unless it is that of the attempt before in this run.
	n.callBegan = goesOn && (n.callBegan || rec.Status != state.Running)
	caller := state.Caller{PRD: st.PRD, Session: st.Session, Workstream: n.ws.Name, Call: id, Root: st.PRD, File: st.Pipeline.Path}
	if outer := st.Caller; outer != nil {
		caller.Root, caller.File = outer.Root, outer.File
	}
	return &Call{PRD: CalledID(st.PRD, n.ws), Caller: caller, File: called.File, Parallel: l.phase.callShare(), NoCache: l.opts.NoCache, RaiseBudget: l.opts.RaiseBudget}
}

// id returns the id of a call, "" for nil.
func (c *Call) id() string {
	if c == nil {
		return ""
	}
	return c.Caller.Call
}

// madeByCallers returns the digests with which other workstreams of the calling pipelines
// recorded a file last, by path. What can't be read is left out: the worst is that a person is
// asked about a file that nobody has edited.
func madeByCallers(store *checkpoint.Store, c *state.Caller) map[string][]string {
	made := map[string][]string{}
	for c != nil {
		snap, err := store.Load(c.PRD)
		if err != nil || snap.State == nil {
			break
		}
		last := map[string]uint64{}
		digests := map[string]string{}
		for w := range snap.State.Records() {
			for _, a := range w.Artifacts {
				if path := string(a.Path); w.Name != c.Workstream && w.RecordedSeq() >= last[path] {
					last[path], digests[path] = w.RecordedSeq(), a.Digest
				}
			}
		}
		for path, digest := range digests {
			made[path] = append(made[path], digest)
		}
		c = snap.State.Caller
	}
	return made
}

// calledSession returns the session that a call has begun, nil if there is none: the current
// one, if it is also archived. A session that can't be read may be it, if there is no other.
func (o Options) calledSession(prd, call string) (*reader.StoredSession, error) {
	sessions, err := o.Store.Reader().Sessions(prd)
	if err != nil {
		return nil, err
	}
	var found, unread *reader.StoredSession
	for i, s := range sessions { // the current one is the last
		switch {
		case s.Err != nil:
			unread = &sessions[i]
		case s.State.Caller != nil && s.State.Caller.Call == call:
			found = &sessions[i]
		}
	}
	return cmp.Or(found, unread), nil
}

// sessionsOfCall reports whether a call has begun a session, and returns what all its sessions
// have spent: after one that is complete, the called pipeline continues in another one. A session
// that can't be read may be one of the call. What such a session has reported counts all the same.
func (l *loop) sessionsOfCall(prd, call string) (began bool, spent ledger.Spent) {
	sessions, err := l.opts.Store.Reader().Sessions(prd)
	if err != nil {
		return true, spent
	}
	counted := map[string]bool{}
	for _, s := range slices.Backward(sessions) { // an import may have left an older copy of the current one
		switch {
		case s.Err != nil:
			began = true
		case s.State.Caller != nil && s.State.Caller.Call == call && !counted[s.State.Session]:
			began, counted[s.State.Session] = true, true
			spent.Add(s.State.Spent)
		}
	}
	return began, spent
}

// countCall counts what a call has spent and not reported, because its process was killed before
// it did.
func (l *loop) countCall(rec *state.Workstream, spent ledger.Spent) {
	e := state.ReportsReceived{Workstream: rec.Name, Attempt: rec.Attempts}
	lost := spent.Sub(rec.CallSpent)
	for _, name := range []string{ledger.MetricCostUSD, ledger.MetricTokensIn, ledger.MetricTokensOut} {
		if value, _ := lost.Metric(name); value != "0" && !strings.HasPrefix(string(value), "-") {
			e.Reports = append(e.Reports, ledger.Report{Type: ledger.TypeMetric, Name: name, Value: value})
		}
	}
	l.reports.record(e, nil)
}

// endKilledCall counts what the call of a killed attempt has spent, and reports whether the call has
// begun a session. A call that began before an export has begun elsewhere. If a person deleted the
// session after the kill, nothing shows that it began: the call begins anew, and only what must happen
// only once in it is asked about.
func (l *loop) endKilledCall(rec *state.Workstream, ws *pipeline.Workstream) (began bool) {
	began, spent := l.sessionsOfCall(CalledID(l.pipeline.ID, ws), rec.Call)
	l.countCall(rec, spent)
	origin, err := l.opts.Store.Layout().ReadOrigin(l.session.State())
	return began || err != nil || origin != nil && rec.CallSeq <= origin.Seq
}

// missingSession returns why the call on record of a workstream can't go on: the session of the
// called pipeline has begun, and is not here any more, or the caller's session was imported without
// it. If it began anew, what must happen only once in it would happen again.
func (o Options) missingSession(ws *pipeline.Workstream, rec *state.Workstream) error {
	prd := CalledID(o.Pipeline.ID, ws)
	found, err := o.calledSession(prd, rec.Call)
	if err != nil || found != nil && found.Place == disk.PlaceCurrent {
		return err // what can't be read is reported when the called pipeline runs
	}
	where, export := "not here", "checkpoint export "+prd
	advice := "bring it from where it ran, with `%s` there and `%s` here"
	if found != nil && found.State != nil {
		where, export = "archived", fmt.Sprintf("%s --session %s -o FILE", export, found.State.Session)
		advice = "bring it back, with `%s` and then `%s`"
	}
	advice = fmt.Sprintf(advice, o.Command(export), o.Command("checkpoint import FILE"))
	if o.Caller == nil {
		advice += fmt.Sprintf(", or begin it anew with `%s`", o.resumeCommand(" --invalidate "+text.ShellWord(ws.Name)))
	}
	return fmt.Errorf("%w, %s, is %s; %s", errNoSession, prd, where, advice)
}

// resumeCommand returns the command line that resumes the session, with more flags. A called
// pipeline is resumed with the first of its callers.
func (o Options) resumeCommand(flags string) string {
	prd := o.Pipeline.ID
	if o.Caller != nil {
		prd = o.Caller.Root
	}
	return o.Command("build " + prd + " --resume" + flags)
}

// intoCall makes a task run a called pipeline. The values of the variables go through the
// environment, because some may be sensitive.
func (n *node) intoCall(t *Task, called *pipeline.Called) {
	l := n.loop
	if l.opts.CallCommand == nil {
		t.unready = errors.New("this program can't run called pipelines")
		return
	}
	// A call that has begun no session is on record as such. Its attempt may be repeated in this run.
	if rec := l.session.State().Workstream(n.ws.Name); n.callBegan && rec.Status != state.Running {
		if err := l.opts.missingSession(n.ws, rec); err != nil {
			t.unready = err
			return
		}
	}
	t.Command = l.opts.CallCommand(*n.call)
	t.Grace += time.Duration(n.ws.CallLevels) * callEndGrace
	for name, value := range called.Variables {
		t.Env[pipeline.EnvironmentPrefix+name] = value
	}
}

// callEnded takes the end of the process of a called pipeline: why the pipeline has failed, or
// that it waits.
func (n *node) callEnded(r *attemptResult, task Task) {
	l := n.loop
	if r.result.Outcome != Exited || r.result.Succeeded() {
		return
	}
	snap, err := l.opts.Store.Load(n.call.PRD)
	begun := err == nil && snap.State != nil && snap.State.Caller != nil && snap.State.Caller.Call == n.call.Caller.Call
	switch {
	case begun && r.result.ExitCode == ExitPaused && snap.State.Status == state.StatusPaused && snap.State.Pause != nil:
		r.paused = pausedCall(snap.State)
	case begun && r.result.ExitCode == ExitFailed && snap.State.Status == state.StatusFailed && snap.State.Error != nil:
		r.failure = l.failures.callFailure(n.ws.Name, task, snap.State)
	default:
		l.failures.callRefused(r.failure, n.call.PRD, task)
	}
}

// callRefused says why the process of a called pipeline has ended otherwise than with an outcome
// of its work. What else is in its log may be about an earlier failure.
func (fs *failures) callRefused(f *state.Failure, prd string, task Task) {
	if f.ExitCode < firstSignalCode {
		f.Outcome = state.OutcomeRefused
	}
	if reason := lastError(logTail(task.Log)); reason != "" {
		f.Message = state.Text(shorten(fs.opts.Mask(prd + ": " + reason)))
		f.File, f.Line, f.Column = "", 0, 0
	}
}

// lastError returns the last error that Runner has printed into a log, without its hint.
func lastError(log string) (reason string) {
	for line := range strings.Lines(log) {
		if message, ok := strings.CutPrefix(line, "Error: "); ok {
			reason = strings.TrimSpace(message)
		}
	}
	return reason
}

// pausedCall says what a called pipeline waits for.
func pausedCall(st *state.State) *pausedCalls {
	p := &pausedCalls{message: st.PRD + " is paused", requested: st.Pause.Reason == state.PauseRequested}
	if st.Pause.Message != "" {
		p.message = fmt.Sprintf("%s is paused: %s", st.PRD, st.Pause.Message)
	}
	own := state.PausedCall{PRD: st.PRD, Budget: st.Pause.Reason == state.PauseBudget}
	for _, g := range waitingGates(st) {
		own.Gates = append(own.Gates, g.Label)
		if len(g.Asks) > 0 {
			if own.Asks == nil {
				own.Asks = map[string][]state.AskedInput{}
			}
			own.Asks[g.Label] = g.Asks
		}
	}
	if p.calls = st.Pause.Calls; len(own.Gates) > 0 || len(p.calls) == 0 {
		p.calls = append(slices.Clip(p.calls), own)
	}
	return p
}

// waitingGates returns the gates that wait for a person.
func waitingGates(st *state.State) []*state.Gate {
	var waiting []*state.Gate
	add := func(gates []*state.Gate) {
		for _, g := range gates {
			if g.Status == state.Waiting {
				waiting = append(waiting, g)
			}
		}
	}
	for _, p := range st.Phases {
		for _, w := range p.Workstreams {
			add(w.Gates)
		}
		add(p.Gates)
	}
	return waiting
}

// pausedCalls are the sessions that wait below one call.
type pausedCalls struct {
	message   string
	calls     []state.PausedCall
	requested bool // they do not wait: a pause was asked for
}

// callFailure returns the failure of a workstream whose called pipeline has failed.
func (fs *failures) callFailure(owner string, task Task, st *state.State) *state.Failure {
	f := *st.Error
	where := f.Gate
	if where == "" {
		where = f.Workstream
	}
	message := st.PRD + " failed"
	if where != "" {
		message += " at " + where
	}
	message += ": " + string(f.Message)
	if where != "" && f.Log != "" {
		message += fmt.Sprintf(" (`%s` shows it)", fs.opts.Command("logs "+st.PRD+" "+text.ShellWord(where)))
	}
	return &state.Failure{
		Workstream: owner, Outcome: string(Exited), ExitCode: ExitFailed, Message: state.Text(shorten(fs.opts.Mask(message))),
		File: f.File, Line: f.Line, Column: f.Column, Log: state.Text(filepath.Base(task.Log)),
	}
}

// leavePaused records that a workstream was left because its called pipeline waits. The next
// run continues it. If a pause of this run was asked for, and passed on, it waits for nobody.
func (n *node) leavePaused(p *pausedCalls) {
	l := n.loop
	if p.requested && l.cause.requested {
		n.interrupt()
		return
	}
	l.cause.calls.message = strings.TrimPrefix(l.cause.calls.message+"; "+n.ws.Name+": "+p.message, "; ")
	l.cause.calls.calls = append(l.cause.calls.calls, p.calls...)
	l.recorder.Add(func() { n.finish(left) }, state.WorkstreamInterrupted{Workstream: n.ws.Name, Attempt: n.attempt, WaitsFor: n.call.PRD})
}

// pauseForCalls returns the event of a run that pauses because called pipelines wait.
func (en *endReasons) pauseForCalls() state.SessionPaused {
	l := en.loop
	message := en.calls.message
	labels := slices.Sorted(maps.Keys(l.openQuestions))
	if len(labels) > 0 {
		message += "; waiting for an approval of " + text.Enumerate(labels)
	}
	e := pausedEvent(state.PauseCall, shorten(l.opts.Mask(message)), labels)
	e.Calls = en.calls.calls
	return e
}

// passOnPause asks the called pipelines that run to pause, after the user has asked this run
// to. Each is asked once, as soon as it owns its session, and again if it could not be asked.
func (l *loop) passOnPause() {
	if !l.cause.requested || l.tasksCancelled() {
		return
	}
	for n := range l.calling {
		if owner, err := l.opts.Store.Owner(n.call.PRD); n.pauseAsked || err != nil || owner == nil {
			continue
		}
		n.pauseAsked = true
		request := checkpoint.Request{PRD: n.call.PRD, Verb: checkpoint.VerbPause, Comment: "its caller pauses", By: l.opts.By, At: l.opts.Now()}
		go func() {
			err := l.opts.Store.Ask(l.grace, request, func(*checkpoint.Session) error { return errCallEnded })
			if err == nil {
				return
			}
			select { // it may have ended meanwhile, which is as good
			case l.events <- func() { n.pauseAsked = false }:
			case <-l.grace.Done():
			}
		}()
	}
}
