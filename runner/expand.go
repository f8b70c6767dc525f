package runner

import (
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// withResults returns the options with the pipeline as the results on record make it: with
// the instances of each for_each that uses results, and with the gates of findings. st may
// be nil.
func (o Options) withResults(st *state.State) (Options, error) {
	if st == nil {
		return o, nil
	}
	expanded, err := expandAll(o.Pipeline, st)
	if err != nil {
		return o, err
	}
	o.Pipeline = expanded
	o.addFindingGates(st)
	return o, nil
}

// expandAll returns the pipeline with the instances of each for_each that uses results on
// record. Some use results of instances that are known only after others.
func expandAll(p *pipeline.Pipeline, st *state.State) (*pipeline.Pipeline, error) {
	everywhere := func(*pipeline.Phase) bool { return true }
	for {
		expanded, err := p.WithElements(plan.ResultsOf(st, p, pipeline.RunInfo{}), everywhere)
		if err != nil || expanded == p {
			return p, err
		}
		p = expanded
	}
}

// expand gives the workstreams of the phase whose for_each uses results their instances. It is
// called before anything of the phase runs, when all results of earlier phases are there.
func (p *phaseRun) expand() error {
	l := p.loop
	expanded, err := l.pipeline.WithElements(l.planner.Results(true, 0), func(phase *pipeline.Phase) bool { return phase == p.phase })
	if err != nil || expanded == l.pipeline {
		return err
	}
	for _, rec := range l.session.State().Phase(p.phase.Name).Workstreams {
		if expanded.Workstream(rec.Name) == nil { // its element is gone
			l.recordedFiles.ForgetArtifacts(rec)
		}
	}
	before := l.pipeline
	l.usePipeline(expanded)
	p.phase = expanded.Phases[p.phase.Number-1]
	if err := l.readEarlierSessions(); err != nil {
		return err
	}
	l.planOutdated = true
	l.recorder.Add(nil, state.PhaseExpanded{Phase: p.phase.Name, Instances: expanded.Expanded(p.phase), Shape: plan.ShapeOf(expanded)})
	l.rememberActs()
	// The captures so far have left out files that only instances name.
	l.captures.captureNamed()
	return p.findReturned(before)
}

// usePipeline replaces the pipeline by one with other instances. Nothing runs meanwhile.
func (l *loop) usePipeline(p *pipeline.Pipeline) {
	if p == l.pipeline {
		return
	}
	l.pipeline, l.opts.Pipeline = p, p
	l.known.Store(p)
	l.opts.addFindingGates(l.session.State())
	l.surveyor.SetPipeline(p)
	if l.planner != nil {
		l.planner.SetPipeline(p)
	}
}

// readEarlierSessions reads what earlier sessions have done of the workstreams of the
// pipeline.
func (l *loop) readEarlierSessions() (err error) {
	l.facts.Acts, err = l.opts.knownActs(l.session.State())
	if l.facts.EarlierRuns = l.opts.earlierRuns(l.files); l.facts.EarlierRuns != nil {
		l.facts.EarlierRuns() // before this run writes more to the journal
	}
	return err
}

// rememberActs records which once workstreams have happened in other sessions, as far as the
// session does not know.
func (l *loop) rememberActs() {
	if acts := l.session.State().UnknownActs(l.facts.Acts); len(acts) > 0 {
		l.recorder.Add(nil, state.ActsRemembered{Acts: acts})
	}
}
