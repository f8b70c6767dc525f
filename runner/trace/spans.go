package trace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// The attributes of the semantic conventions of OpenTelemetry for CI/CD, and of Runner. The
// conventions have a pipeline, whose run is the root span, and tasks.
const (
	attrAction     = "cicd.pipeline.action.name"
	attrResult     = "cicd.pipeline.result"
	attrTask       = "cicd.pipeline.task.name"
	attrTaskRun    = "cicd.pipeline.task.run.id"
	attrTaskResult = "cicd.pipeline.task.run.result"
	attrError      = "error.type"
	attrExitCode   = "process.exit.code"
	attrLog        = "log.file.name"
	attrBranch     = "vcs.ref.head.name"
	attrCommit     = "vcs.ref.head.revision"
	attrKind       = "runner.kind" // run, phase, workstream, attempt, gate, review or service
	attrPhase      = "runner.phase"
	attrAttempt    = "runner.attempt"
	attrIteration  = "runner.iteration"
)

// The results that the conventions know. A result of another kind is paused, or waiting.
const (
	success      = "success"
	failure      = "failure"
	timeout      = "timeout"
	cancellation = "cancellation"
	paused       = "paused"
	waiting      = "waiting" // for a person
)

// action is what a run does with a pipeline, by the conventions.
const action = "RUN"

// maxEvents bounds the events of a span, as OpenTelemetry does.
const maxEvents = 128

// spans are the spans of a run. Those that have ended are handed to add.
type spans struct {
	root      spanContext
	random    func([]byte)
	add       func(*span)
	session   string
	run       *span
	phase     *span // nil: none is open
	name      string
	iteration int // of the phase; 0: it does not repeat
	review    *span
	works     map[string]*work // by workstream
	gates     map[string]*span // by label
	services  map[string]*span
}

// work is a workstream that runs, is judged, or has failed.
type work struct {
	span    *span
	attempt *span          // nil: none is open
	last    spanID         // of the last attempt
	failed  *state.Failure // of a gate
	until   time.Time      // when the last span below it ended
}

func newSpans(t *Tracer, b runner.Beginning) *spans {
	s := &spans{
		root: t.root, random: t.o.Random, add: t.exporter.add, session: b.Session,
		works: map[string]*work{}, gates: map[string]*span{}, services: map[string]*span{},
	}
	s.run = s.open(action+" "+t.o.PRD, "run", t.root.span, t.settings.parent.span, t.began)
	s.run.Kind, s.run.Links = server, t.links
	s.run.add(text(attrAction, action))
	s.describeGit(b.Git)
	if b.Resumed {
		s.run.add(yes("runner.resumed"))
	}
	if n := reused(b.Plan); n > 0 {
		s.run.add(number("runner.reused", n))
	}
	return s
}

// reused counts the workstreams and gates whose results a run takes over.
func reused(p *plan.Plan) int {
	n := 0
	if p == nil {
		return n
	}
	for _, phase := range p.Phases {
		for _, step := range phase.Steps {
			if step.Decision == plan.Reuse {
				n++
			}
		}
	}
	return n
}

// apply takes note of an event.
func (s *spans) apply(at time.Time, e state.Event) {
	switch e := e.(type) {
	case state.SessionPaused:
		s.run.event(at, "session.paused", text("reason", string(e.Reason)))
	case state.PauseAsked:
		s.run.event(at, "pause.requested")
	case state.HookEnded:
		s.run.event(at, "hook.ended", text("event", e.Event), number("hook", e.Hook), text("result", resultOf(e.Error == "")))
	case state.PhaseStarted:
		s.endPhase(at, success)
		s.phase, s.name, s.iteration = s.open("phase "+e.Phase, "phase", s.newID(), s.root.span, at), e.Phase, 0
		s.phase.add(text(attrPhase, e.Phase))
	case state.PhaseRepeated:
		s.repeat(at, e)
	case state.PhaseCompleted:
		s.endPhase(at, success)
	case state.PhaseSkipped:
		s.run.event(at, "phase.skipped", text(attrPhase, e.Phase))
	default:
		if !s.applyToWorkstream(at, e) && !s.applyToGate(at, e) && !s.applyToReview(at, e) {
			s.applyToService(at, e)
		}
	}
}

func (s *spans) describeGit(g *state.Git) {
	if g == nil {
		return
	}
	if g.Branch != "" {
		s.run.add(text(attrBranch, string(g.Branch)))
	}
	if g.Commit != "" {
		s.run.add(text(attrCommit, g.Commit))
	}
}

// repeat notes that a phase runs again. What was judged in the iteration before has its end.
func (s *spans) repeat(at time.Time, e state.PhaseRepeated) {
	s.endWorks(at)
	s.iteration = e.Iteration
	if s.phase != nil {
		s.phase.event(at, "phase.repeated", number(attrIteration, e.Iteration))
	}
}

func (s *spans) endPhase(at time.Time, result string) {
	if s.phase == nil {
		return
	}
	s.endWorks(at)
	s.phase.add(text(attrTaskResult, result))
	s.close(s.phase, at)
	s.phase = nil
}

// endWorks ends the workstreams of which no event tells the end: those that a gate has failed, or
// that the run has stopped.
func (s *spans) endWorks(at time.Time) {
	for _, name := range slices.Sorted(maps.Keys(s.works)) {
		switch w := s.works[name]; {
		case w.attempt != nil:
			s.endAttempt(w, at, cancellation, nil)
			s.endWork(name, at, cancellation, nil)
		case w.failed != nil:
			s.endWork(name, w.until, failure, w.failed)
		default:
			s.endWork(name, at, cancellation, nil)
		}
	}
}

func (s *spans) applyToWorkstream(at time.Time, e state.Event) bool {
	switch e := e.(type) {
	case state.WorkstreamStarted:
		w := s.work(e.Workstream, at)
		w.attempt = s.open("attempt "+e.Workstream, "attempt", s.root.below(e.Workstream, e.Attempt).span, w.span.SpanID, at)
		w.attempt.add(text(attrTask, e.Workstream), text(attrTaskRun, s.taskID(e.Workstream, e.Attempt)), number(attrAttempt, e.Attempt), text(attrPhase, s.name))
		w.last = w.attempt.SpanID
	case state.WorkstreamAttemptFailed:
		s.endAttempt(s.work(e.Workstream, at), at, "", &e.Error)
	case state.WorkstreamSucceeded:
		s.endAttempt(s.work(e.Workstream, at), at, success, nil)
	case state.WorkstreamCompleted:
		w := s.work(e.Workstream, at)
		if e.Work != nil && e.Work.Cached != nil && w.attempt != nil {
			w.attempt.add(yes("runner.cached"))
		}
		s.endAttempt(w, at, success, nil)
		s.endWork(e.Workstream, at, success, nil)
	case state.WorkstreamFailed:
		w := s.work(e.Workstream, at)
		if e.Allowed {
			w.span.add(yes("runner.allowed_failure"))
		}
		s.endAttempt(w, at, "", &e.Error)
		s.endWork(e.Workstream, at, "", &e.Error)
	case state.WorkstreamUncertain:
		w := s.work(e.Workstream, at)
		s.endAttempt(w, at, "", &e.Error)
		s.endWork(e.Workstream, at, "", &e.Error)
	case state.WorkstreamInterrupted:
		if w := s.works[e.Workstream]; w != nil {
			result := cancellation
			if e.WaitsFor != "" {
				result = paused
			}
			s.endAttempt(w, at, result, nil)
			s.endWork(e.Workstream, at, result, nil)
		}
	case state.WorkstreamInvalidated:
		if s.works[e.Workstream] != nil {
			s.endWork(e.Workstream, at, cancellation, nil)
		}
	default:
		return false
	}
	return true
}

// work returns a workstream by its name. It opens its span if none is open.
func (s *spans) work(name string, at time.Time) *work {
	if w := s.works[name]; w != nil {
		return w
	}
	w := &work{span: s.open("workstream "+name, "workstream", s.newID(), s.parent(), at), until: at}
	w.span.add(text(attrTask, name), text(attrPhase, s.name))
	if s.iteration > 0 {
		w.span.add(number(attrIteration, s.iteration))
	}
	s.works[name] = w
	return w
}

// parent returns the span that workstreams and gates of the phase are below.
func (s *spans) parent() spanID {
	if s.phase == nil {
		return s.root.span
	}
	return s.phase.SpanID
}

func (s *spans) endAttempt(w *work, at time.Time, result string, f *state.Failure) {
	if w.attempt == nil {
		return
	}
	s.endTask(w.attempt, at, result, f)
	w.attempt, w.until = nil, at
}

func (s *spans) endWork(name string, at time.Time, result string, f *state.Failure) {
	s.endTask(s.works[name].span, at, result, f)
	delete(s.works, name)
}

func (s *spans) applyToGate(at time.Time, e state.Event) bool {
	switch e := e.(type) {
	case state.GateStarted:
		s.gate(e.Gate, s.root.below(e.Gate, e.Attempt).span, at).add(text(attrTaskRun, s.taskID(e.Gate, e.Attempt)), number(attrAttempt, e.Attempt))
	case state.GatePassed:
		s.endGate(e.Gate, at, e.DurationMS, success, nil)
	case state.GateFailed:
		s.endGate(e.Gate, at, e.DurationMS, "", &e.Error)
	case state.GateAsked:
		s.gate(e.Gate, s.newID(), at).event(at, "gate.asked")
	case state.GateApproved:
		s.answer(e.Gate, at, "gate.approved", success)
	case state.GateRejected:
		s.answer(e.Gate, at, "gate.rejected", failure)
	case state.GateReviewed:
		s.run.event(at, "gate.reviewed", text("gate", e.Gate))
	case state.GateVoided:
		if s.gates[e.Gate] != nil {
			s.endGate(e.Gate, at, 0, cancellation, nil)
		}
	default:
		return false
	}
	return true
}

// gate opens the span of a gate: below the attempt that it judges, or its workstream, or its phase.
func (s *spans) gate(label string, id spanID, at time.Time) *span {
	if had := s.gates[label]; had != nil { // it asks again
		return had
	}
	name, owner, _ := state.CutLabel(label)
	parent := s.parent()
	if owner != s.name {
		w := s.work(owner, at)
		if parent = w.span.SpanID; w.last != (spanID{}) {
			parent = w.last
		}
	}
	g := s.open("gate "+name, "gate", id, parent, at)
	g.add(text(attrTask, label), text(attrPhase, s.name))
	s.gates[label] = g
	return g
}

// endGate ends a gate. One that has no process is judged in a moment, of which only the end is on
// record.
func (s *spans) endGate(label string, at time.Time, tookMS int64, result string, f *state.Failure) {
	g := s.gates[label]
	if g == nil {
		g = s.gate(label, s.newID(), at.Add(-time.Duration(tookMS)*time.Millisecond))
	}
	s.endTask(g, at, result, f)
	delete(s.gates, label)
	if _, owner, _ := state.CutLabel(label); s.works[owner] != nil && owner != s.name {
		w := s.works[owner]
		w.until = at
		if f != nil {
			w.failed = f
		}
	}
}

// answer notes the answer of a person. If the gate asked in an earlier run, that run has its span.
func (s *spans) answer(label string, at time.Time, name, result string) {
	g := s.gates[label]
	if g == nil {
		s.run.event(at, name, text("gate", label))
		return
	}
	g.event(at, name)
	var f *state.Failure
	if result == failure {
		f = &state.Failure{Outcome: "rejected", Message: "rejected"}
	}
	s.endGate(label, at, 0, result, f)
}

func (s *spans) applyToReview(at time.Time, e state.Event) bool {
	switch e := e.(type) {
	case state.ReviewStarted:
		s.review = s.open("review", "review", s.root.below(runner.ReviewLog, e.Run).span, s.root.span, at)
		s.review.add(text(attrTask, "review"), text(attrTaskRun, s.taskID(runner.ReviewLog, e.Run)), number(attrAttempt, e.Attempt))
	case state.ReviewJudged:
		if s.review != nil {
			s.review.add(text("runner.review.verdict", string(e.Verdict)))
		}
		s.endReview(at, success, nil)
	case state.ReviewFailed:
		s.endReview(at, "", &e.Error)
	case state.ReviewInterrupted:
		s.endReview(at, cancellation, nil)
	default:
		return false
	}
	return true
}

func (s *spans) endReview(at time.Time, result string, f *state.Failure) {
	if s.review != nil {
		s.endTask(s.review, at, result, f)
		s.review = nil
	}
}

func (s *spans) applyToService(at time.Time, e state.Event) {
	switch e := e.(type) {
	case state.ServiceStarted:
		log := disk.ServiceLog(e.Service)
		service := s.open("service "+e.Service, "service", s.root.below(log, e.Attempt).span, s.root.span, at)
		service.add(text(attrTask, e.Service), text(attrTaskRun, s.taskID(log, e.Attempt)), number(attrAttempt, e.Attempt))
		s.services[e.Service] = service
	case state.ServiceReady:
		if service := s.services[e.Service]; service != nil {
			service.event(at, "service.ready")
		}
	case state.ServiceEnded:
		if service := s.services[e.Service]; service != nil {
			s.endTask(service, at, success, e.Error)
			delete(s.services, e.Service)
		}
	}
}

// end ends all spans with the run.
func (s *spans) end(at time.Time, e runner.Ending) {
	for _, label := range slices.Sorted(maps.Keys(s.gates)) {
		g := s.gates[label]
		if slices.ContainsFunc(g.Events, func(e event) bool { return e.Name == "gate.asked" }) {
			s.endGate(label, at, 0, waiting, nil)
		} else {
			s.endGate(label, at, 0, cancellation, nil)
		}
	}
	s.endReview(at, cancellation, nil)
	result, f := resultOfRun(e)
	if s.phase != nil && f != nil {
		s.phase.Status = status{clean(string(f.Message)), codeError}
	}
	s.endPhase(at, result)
	s.endWorks(at)
	for _, name := range slices.Sorted(maps.Keys(s.services)) {
		s.close(s.services[name], at)
	}
	s.run.add(text(attrResult, result))
	if f != nil {
		s.run.fail(*f)
	}
	s.close(s.run, at)
}

// resultOfRun returns the result of a run, and its failure.
func resultOfRun(e runner.Ending) (string, *state.Failure) {
	switch {
	case e.Signal != "":
		return cancellation, nil
	case e.Done():
		return success, nil
	case e.Pause != nil && e.Pause.Reason == state.PauseTimeout:
		return timeout, nil
	case e.Status == state.StatusFailed && e.Error != nil:
		return failure, e.Error
	case e.Status == state.StatusPaused:
		return paused, nil
	}
	return failure, &state.Failure{Message: "the run could not be recorded to its end"}
}

// endTask ends the span of a task. Without a result, that follows from the failure.
func (s *spans) endTask(t *span, at time.Time, result string, f *state.Failure) {
	if f != nil {
		t.fail(*f)
		if result = failure; f.Outcome == string(runner.TimedOut) {
			result = timeout
		}
	}
	t.add(text(attrTaskResult, result))
	s.close(t, at)
}

func (s *spans) taskID(name string, attempt int) string {
	return fmt.Sprintf("%s/%s/%d", s.session, name, attempt)
}

func (s *spans) newID() spanID {
	var id spanID
	s.random(id[:])
	return id
}

func (s *spans) open(name, kind string, id, parent spanID, at time.Time) *span {
	return &span{
		TraceID: s.root.trace, SpanID: id, TraceState: s.root.state, Parent: parent, Name: clean(name), Kind: internal, Start: moment(at),
		Attributes: []attribute{text(attrKind, kind)},
	}
}

// close ends a span, and hands it over.
func (s *spans) close(t *span, at time.Time) {
	t.End = max(t.Start, moment(at))
	s.add(t)
}

func (s *span) add(all ...attribute) { s.Attributes = append(s.Attributes, all...) }

func (s *span) event(at time.Time, name string, all ...attribute) {
	if len(s.Events) >= maxEvents {
		s.DroppedEvents++
		return
	}
	s.Events = append(s.Events, event{moment(at), name, all})
}

// fail gives a span a failure, which has no sensitive values in it.
func (s *span) fail(f state.Failure) {
	s.Status = status{clean(string(f.Message)), codeError}
	s.add(text(attrError, cmp.Or(f.Outcome, "_OTHER")))
	if f.Outcome == string(runner.Exited) {
		s.add(number(attrExitCode, f.ExitCode))
	}
	if f.Log != "" {
		s.add(text(attrLog, string(f.Log)))
	}
}

func resultOf(ok bool) string {
	if ok {
		return success
	}
	return failure
}
