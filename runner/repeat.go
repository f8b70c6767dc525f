package runner

import (
	"fmt"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/findings"
	"prdrunner/runner/plan"
)

// A phase with a repeat block runs its workstreams again until everything in it passes and
// its condition holds. A failure ends the iteration, not the run, as long as another
// iteration may follow.

// isSatisfied reports whether the iteration is the last one, as far as the condition of the
// repeat block says. A phase that is complete, and in which nothing ran, is not asked again. A
// condition that can't be evaluated fails the phase.
func (p *phaseRun) isSatisfied() bool {
	if p.phase.Repeat == nil || !p.entered && p.loop.session.State().Phase(p.phase.Name).Status == state.Completed {
		return true
	}
	satisfied, diags := p.phase.Repeat.Satisfied(p.loop.planner.Results(true, 0))
	if diags.HasErrors() {
		p.broken = true
		p.loop.addFailure(p.loop.failures.expressionFailure(p.phase.Name, "", diags), true)
		return false
	}
	p.unsatisfied = !satisfied
	return satisfied
}

// repeat begins the next iteration of a phase whose iteration has ended without success. It
// returns false if there is none: the phase does not repeat, the run is stopping, the
// iteration was the last one, or it changed nothing.
func (p *phaseRun) repeat() bool {
	l := p.loop
	if !p.mayRepeat() {
		return false
	}
	rec := l.session.State().Phase(p.phase.Name)
	failures := slices.Clone(l.cause.failures[p.failuresBefore:])
	why := p.whyAgain(failures)
	if last := rec.Iteration.WhyLast(why, ""); last != "" {
		p.failRepeat(last)
		return false
	}
	l.captures.capture(state.TriggerIterationComplete)
	if l.status > stopFailure || l.recorder.Err() != nil {
		return false
	}
	results := l.session.State().ComparableResults(rec, l.opts.Capture != CaptureOff)
	if last := rec.Iteration.WhyLast(why, results); last != "" {
		p.failRepeat(last)
		return false
	}
	return p.beginIteration(rec.Iteration.Index+1, failures, results)
}

// mayRepeat reports whether the iteration has ended in a way after which another one may
// follow: something failed, or the condition does not hold, and nothing waits for the user.
func (p *phaseRun) mayRepeat() bool {
	l := p.loop
	switch {
	case p.phase.Repeat == nil || p.broken || l.status > stopFailure || l.recorder.Err() != nil || len(l.openQuestions) > 0:
		return false
	case slices.ContainsFunc(p.phase.Workstreams, func(ws *pipeline.Workstream) bool { return l.planner.ExclusionReason(ws) != "" }):
		l.cause.excluded = true // only some workstreams were chosen
		return false
	}
	return p.unsatisfied || len(l.cause.failures) > p.failuresBefore
}

// whyAgain says why an iteration is not the last one.
func (p *phaseRun) whyAgain(failures []state.Failure) string {
	if len(failures) == 0 {
		return plan.UntilIsFalse(p.phase.Repeat)
	}
	f := failures[0]
	what := f.Workstream
	if f.Gate != "" {
		what = f.Gate
	}
	return fmt.Sprintf("%s failed: %s", what, f.Message)
}

// failRepeat fails the phase, because no further iteration follows.
func (p *phaseRun) failRepeat(message string) {
	l := p.loop
	f := state.Failure{
		Workstream: p.phase.Name, Outcome: "repeat", Message: state.Text(shorten(l.opts.Mask(message))),
		File: state.Text(findings.Relative(l.pipeline.Source, l.opts.Workspace, "")), Line: p.phase.Repeat.Range.Start.Line,
	}
	l.addFailure(f, true)
	own := l.cause.failures[p.failuresBefore:]
	copy(own[1:], own) // it explains the others, so it comes first
	own[0] = f
}

// beginIteration records the next iteration, with a checkpoint, and takes back the failures
// of the one that has ended.
func (p *phaseRun) beginIteration(index int, failures []state.Failure, results string) bool {
	l := p.loop
	l.cause.failures = l.cause.failures[:p.failuresBefore]
	if l.status == stopFailure {
		l.status = running
	}
	p.rememberLeft()
	l.forgetVerdicts(p.phase)
	l.phase.recordStarted()
	l.recorder.Add(nil, state.PhaseRepeated{
		Phase: p.phase.Name, Iteration: index, Reason: state.Text(shorten(l.opts.Mask(p.whyAgain(failures)))), Failures: failures, Results: results,
	})
	if l.files.CommitsToBranch() {
		l.readGit()
	}
	l.readWorkTree()
	l.addCheckpoint(state.TriggerIterationComplete, fmt.Sprintf("iteration %d", index-1))
	l.recorder.WriteAll()
	return l.status == running && l.recorder.Err() == nil
}

// rememberLeft adds what failed attempts made of the artifacts of other workstreams to the
// recorded files: it is no edit.
func (p *phaseRun) rememberLeft() {
	l := p.loop
	st := l.session.State()
	owners := l.surveyor.Owners(st)
	for _, ws := range p.phase.Workstreams {
		for _, a := range st.Workstream(ws.Name).LeftFiles() {
			if maker := owners[string(a.Path)]; maker != "" && a.Digest != "" {
				l.recordedFiles.AddArtifacts(maker, []state.Artifact{a})
			}
		}
	}
}

// forgetVerdicts forgets the files that the gates of a phase judged: they judge again, and what
// an attempt makes of these files meanwhile is no edit.
func (l *loop) forgetVerdicts(phase *pipeline.Phase) {
	forget := func(gates []*pipeline.Gate) {
		for _, g := range gates {
			l.recordedFiles.ForgetJudged(g.Label())
		}
	}
	forget(phase.Gates)
	for _, ws := range phase.Workstreams {
		forget(ws.Gates)
	}
}
