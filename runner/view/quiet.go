package view

import (
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/progress"
)

// quiet prints only failures, and the reason why a run did not complete.
type quiet struct {
	*plain
}

func newQuiet(o Options) *quiet { return &quiet{plain: newPlain(o)} }

// Begin implements runner.View.
func (v *quiet) Begin(b runner.Beginning) {
	v.prd, v.progress = b.PRD, progress.New(b)
	if b.Plan != nil {
		v.rememberPlan(b.Plan, b.Resumed)
	}
}

// Commit implements runner.View.
func (v *quiet) Commit(c state.Commit) {
	v.progress.Commit(c)
	for i, e := range c.Events {
		switch e := e.(type) {
		case state.WorkstreamFailed, state.WorkstreamUncertain, state.GateFailed, state.GateRejected,
			state.CheckpointSkipped:
			v.printEvent(c.At(i), e)
		}
	}
	v.writePage()
}

// End implements runner.View.
func (v *quiet) End(e runner.Ending) {
	if !e.Done() {
		v.plain.End(e)
	}
}
