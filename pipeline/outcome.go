package pipeline

import "iter"

// Status is what has become of a workstream, for expressions and for what depends on it:
// workstream.X.status.
type Status string

// The statuses of a workstream that has ended, or that does not run.
const (
	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusSkipped   Status = "skipped"
	StatusBlocked   Status = "blocked" // it was not started, because something had failed
)

// RunOn says what must have become of the workstreams that a workstream depends on for it to
// run, or of the phases before a phase.
type RunOn string

// The values of run_on.
const (
	RunOnSucceeded RunOn = "succeeded" // all have completed; the default
	RunOnFailed    RunOn = "failed"    // one has failed
	RunOnAlways    RunOn = "always"    // they have ended, however they did
)

// Dependencies yields the elements of depends_on as in the file, such as workstream.build, each
// with the names of the workstreams that it stands for. A block with for_each stands for all
// its instances. What the for_each of an unexpanded instance uses is among them.
func (w *Workstream) Dependencies() iter.Seq2[string, iter.Seq[string]] {
	return func(yield func(string, iter.Seq[string]) bool) {
		for _, dep := range w.deps {
			names := func(yield func(string) bool) {
				for _, ws := range dep.instances() {
					if !yield(ws.Name) {
						return
					}
				}
			}
			if !yield(dep.written(), names) {
				return
			}
		}
	}
}

// outcomeArguments are the arguments about failures that workstreams and phases share.
type outcomeArguments struct {
	runOn    *argument
	failFast *argument
}

// phaseOutcome evaluates what a phase says about failures.
func (b *builder) phaseOutcome(def *phaseDef) {
	phase, fr := def.phase, constantFrame(noEach)
	phase.RunOn = oneOf(b, def.block.outcome.runOn, fr, RunOnSucceeded, RunOnSucceeded, RunOnFailed, RunOnAlways)
	phase.FailFast = def.block.outcome.failFast == nil || b.boolean(def.block.outcome.failFast, fr)
	if a := def.block.outcome.runOn; phase.RunOn != RunOnSucceeded && phase.Number == 1 {
		b.errorf("Condition of the first phase", a.exprRange(), "No phase runs before %q, so there is nothing that could fail or succeed before it. Remove \"run_on\", or move the phase behind the others.", phase.Name)
		phase.RunOn = RunOnSucceeded
	}
}

// workstreamOutcome evaluates what a workstream says about failures.
func (b *builder) workstreamOutcome(ws *Workstream, fr frame) {
	block := ws.def.block
	ws.RunOn = oneOf(b, block.outcome.runOn, fr, RunOnSucceeded, RunOnSucceeded, RunOnFailed, RunOnAlways)
	if ws.RunOn != RunOnSucceeded && len(block.dependsOn) == 0 {
		b.errorf("Condition without dependencies", block.outcome.runOn.exprRange(), `"run_on" says what must have become of the workstreams in "depends_on", and there are none. Add "depends_on", or give "run_on" to the phase, where the earlier phases decide.`)
		ws.RunOn = RunOnSucceeded
	}
	ws.AllowFailure = b.boolean(block.allowFailure, fr)
	if ws.AllowFailure && ws.Effect == Once {
		b.errorf("Allowed failure of a once workstream", block.allowFailure.exprRange(), `After a failure nobody knows whether a workstream with effect = "once" has happened, so it stays uncertain until a person decides. Remove "allow_failure", or choose another effect.`)
	}
	if ws.FailFast = ws.Phase.FailFast; block.outcome.failFast != nil {
		ws.FailFast = b.boolean(block.outcome.failFast, fr)
	}
}

// checkAfterFailures reports what cannot stand in a phase or workstream that runs after a failure:
// a run that has failed waits for nobody, and a resume runs again what failed before it comes to
// such work.
func (b *builder) checkAfterFailures(phase *Phase) {
	late := phase.RunOn != RunOnSucceeded
	b.refuseQuestions(phase.Gates, late)
	for _, ws := range phase.Workstreams {
		b.refuseQuestions(ws.Gates, late || ws.RunOn == RunOnFailed)
		if ws.Effect == Once && (late || ws.RunOn == RunOnFailed) {
			b.errorf("Once workstream after a failure", ws.Range, `The workstream %s runs after a failure, and so again after the next one. With effect = "once" it must not. Choose another effect.`, ws.Name)
		}
	}
}

func (b *builder) refuseQuestions(gates []*Gate, late bool) {
	for _, g := range gates {
		if late && (g.Kind == GateApproval || g.Pause) {
			b.errorf("Question after a failure", g.Range, "The gate %s stops for a person, and a run that has failed does not wait: it would ask again after each failure. Ask in a phase without \"run_on\", or remove the gate.", g.Label())
		}
	}
}

// became says what became of a workstream that has not completed, for messages.
func (s Status) became() string {
	switch s {
	case StatusFailed:
		return "failed"
	case StatusBlocked:
		return "was not started"
	case StatusSkipped:
		return "was skipped"
	case StatusCompleted:
	}
	return ""
}
