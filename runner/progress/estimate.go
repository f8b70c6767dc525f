package progress

import (
	"time"

	"prdrunner/pipeline"
	"prdrunner/runner/plan"
)

// Left estimates how long the run still takes, if every workstream takes as long as typical says. It reports
// false if it can't: typical lacks a workstream that is left, the pipeline or the number of processes is not
// known, a person is waited for, something has failed, or the run ends.
//
// Phases run one after the other. A phase takes as long as its longest chain of workstreams that wait for each
// other, or as all of them together divided by how many run at once, whichever is longer. The cost is
// proportional to the number of workstreams that the run has.
func (p *Progress) Left(now time.Time, typical map[string]time.Duration) (left time.Duration, known bool) {
	pipe := p.knownPipeline()
	if pipe == nil || p.parallel == 0 || p.failed || p.pausing || p.over {
		return 0, false
	}
	for _, a := range p.active {
		if a.Activity == Asking {
			return 0, false
		}
	}
	e := estimate{p: p, now: now, typical: typical, of: pipe, needs: map[*string]time.Duration{}, chains: map[*step]time.Duration{}, known: true}
	for _, phase := range p.phases {
		of := e.of.Phases
		if phase.Number < 1 || phase.Number > len(of) {
			return 0, false
		}
		if phase == p.current || phase.Ahead && of[phase.Number-1].RunOn != pipeline.RunOnFailed {
			left += e.phase(phase, of[phase.Number-1])
		}
	}
	return left, e.known
}

// estimate is what one call of Left knows.
type estimate struct {
	p       *Progress
	now     time.Time
	typical map[string]time.Duration
	of      *pipeline.Pipeline
	needs   map[*string]time.Duration // the longest chain of a list of dependencies, which instances share
	chains  map[*step]time.Duration   // from its beginning, or from now on, to the end of a workstream
	known   bool
}

// phase returns how long a phase still takes.
func (e *estimate) phase(phase *Phase, of *pipeline.Phase) time.Duration {
	var longest, sum time.Duration
	for _, s := range phase.steps {
		if s.status > asking {
			continue
		}
		longest = max(longest, e.chain(s))
		sum += e.step(s)
		if !e.known {
			return 0
		}
	}
	return max(longest, sum/time.Duration(limitOf(e.p.parallel, of)))
}

// step returns how long a workstream still takes.
func (e *estimate) step(s *step) time.Duration {
	if s.idle {
		return 0
	}
	took, known := e.typical[s.name]
	a := e.p.active[s.name]
	switch {
	case !known:
		e.known = false
		return 0
	case s.status == running && a == nil: // its gates are being judged
		return 0
	case s.status == running:
		return max(0, took-e.now.Sub(a.Since))
	case s.status == waiting && a != nil:
		return took + max(0, a.Until.Sub(e.now))
	}
	return took
}

// chain returns how long it takes until a workstream has ended, with those that it waits for.
func (e *estimate) chain(s *step) time.Duration {
	if had, ok := e.chains[s]; ok {
		return had
	}
	e.chains[s] = 0 // in case of a circle, which a pipeline does not have
	length := e.step(s)
	if ws := e.of.Workstream(s.name); s.status == pending && ws != nil && len(ws.DependsOn) > 0 {
		first := &ws.DependsOn[0]
		before, ok := e.needs[first]
		if !ok {
			for _, name := range ws.DependsOn {
				if up := e.p.steps[name]; up != nil && up.phase == s.phase && up.status <= asking {
					before = max(before, e.chain(up))
				}
			}
			e.needs[first] = before
		}
		length += before
	}
	e.chains[s] = length
	return length
}

// takesNoTime reports whether a run neither runs a workstream nor waits for it, by the decision of the plan.
func takesNoTime(d plan.Decision) bool {
	return d == plan.Judge || d == plan.Cached || d == plan.Blocked || d == plan.Uncertain
}
