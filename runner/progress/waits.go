package progress

import (
	"iter"
	"slices"
	"strings"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// Wait says that steps have not started because they wait for the same things.
type Wait struct {
	Steps []string // workstreams, or "phase NAME"
	For   []string // workstreams, labels of gates, or "service NAME"
}

const (
	// maxWaiting bounds for how many workstreams Waits says what they wait for.
	maxWaiting = 100
	// maxLooked bounds at how many workstreams Waits looks to find these.
	maxLooked = 2000
	// maxBlockers bounds of how many things Waits says that a workstream waits for them.
	maxBlockers = 10
)

// Waits returns what the workstreams of the current phase wait for that have not started, and how many others
// wait. It names no free slot. It returns nothing if the pipeline is not known, and if nothing new starts.
func (p *Progress) Waits() (waits []Wait, more int) {
	if p.waits == nil {
		p.waits = &waitList{}
		p.waits.list, p.waits.more = p.findWaits()
	}
	return p.waits.list, p.waits.more
}

// waitList is what Waits has found since the last event.
type waitList struct {
	list []Wait
	more int
}

// HasFreeSlot reports whether fewer processes of steps run than may run at once in the current phase.
func (p *Progress) HasFreeSlot() bool {
	running := 0
	for _, a := range p.active {
		if a.Activity.Runs() && a.Activity != Starting && a.Activity != Serving {
			running++
		}
	}
	limit := p.parallel
	if known := p.knownPipeline(); known != nil && p.current != nil && p.current.Number >= 1 && p.current.Number <= len(known.Phases) {
		limit = limitOf(limit, known.Phases[p.current.Number-1])
	}
	return running < limit
}

// knownPipeline returns the pipeline, nil if it is not known.
func (p *Progress) knownPipeline() *pipeline.Pipeline {
	if p.pipeline == nil {
		return nil
	}
	return p.pipeline()
}

// limitOf returns how many processes may run at once in a phase of a run that may have so many.
func limitOf(parallel int, phase *pipeline.Phase) int {
	if phase.MaxParallel > 0 {
		return min(parallel, phase.MaxParallel)
	}
	return parallel
}

func (p *Progress) findWaits() (waits []Wait, more int) {
	known := p.knownPipeline()
	if known == nil || p.current == nil || p.pausing || p.halted || p.over {
		return nil, 0
	}
	pending := p.current.pending()
	if pending == 0 {
		return p.nextPhaseWaits(), 0
	}
	groups, found := map[string]int{}, 0
	for s := range p.current.pendingSteps() {
		on := p.blockers(s, known)
		if len(on) == 0 {
			continue
		}
		key := strings.Join(on, "\x00")
		at, had := groups[key]
		if !had {
			at, groups[key] = len(waits), len(waits)
			waits = append(waits, Wait{For: on})
		}
		waits[at].Steps = append(waits[at].Steps, s.name)
		if found++; found == maxWaiting {
			break
		}
	}
	if found == 0 {
		return nil, 0
	}
	return waits, pending - found
}

// Ready returns the number of workstreams of the current phase that have not started and wait for nothing but a
// free slot, as far as the first maxLooked that have not started tell.
func (p *Progress) Ready() (n int) {
	known := p.knownPipeline()
	if known == nil || p.current == nil || p.pausing || p.halted || p.over || p.HasFreeSlot() {
		return 0
	}
	for s := range p.current.pendingSteps() {
		if len(p.blockers(s, known)) == 0 {
			n++
		}
	}
	return n
}

// pending returns the number of workstreams that have not started.
func (c Counts) pending() int { return c.Total - c.Settled() - c.Running - c.Waiting - c.Asking }

// pendingSteps yields workstreams that have not started, of at most maxLooked.
func (p *Phase) pendingSteps() iter.Seq[*step] {
	for p.from < len(p.steps) && p.steps[p.from].status != pending {
		p.from++
	}
	return func(yield func(*step) bool) {
		for _, s := range p.steps[p.from:min(len(p.steps), p.from+maxLooked)] {
			if s.status == pending && !yield(s) {
				return
			}
		}
	}
}

// blockers returns what a workstream waits for before it may take a slot: workstreams of its phase, or their
// gates that are being judged, and services.
func (p *Progress) blockers(s *step, known *pipeline.Pipeline) (on []string) {
	ws := known.Workstream(s.name)
	if ws == nil {
		return nil
	}
	for _, name := range ws.DependsOn {
		up := p.steps[name]
		if up == nil || up.phase != s.phase || up.status > asking {
			continue
		}
		if gates := p.gatesOf(name); len(gates) > 0 {
			on = append(on, gates...)
		} else {
			on = append(on, name)
		}
		if len(on) >= maxBlockers {
			return on
		}
	}
	if len(on) > 0 {
		return on
	}
	for _, name := range ws.Services {
		if a := p.active[disk.ServiceLog(name)]; a == nil || a.Activity != Serving {
			on = append(on, "service "+name)
		}
	}
	return on
}

// nextPhaseWaits returns what the phase after the current one waits for: the gates of the current one.
func (p *Progress) nextPhaseWaits() []Wait {
	gates := p.gatesOf(p.current.Name)
	for _, next := range p.phases {
		if next.Ahead && next.Number > p.current.Number && len(gates) > 0 {
			return []Wait{{Steps: []string{"phase " + next.Name}, For: gates}}
		}
	}
	return nil
}

// gatesOf returns the labels of the gates of a workstream or a phase that are being judged or wait for an
// answer.
func (p *Progress) gatesOf(owner string) (labels []string) {
	for key := range p.active {
		if _, of, ok := state.CutLabel(key); ok && of == owner {
			labels = append(labels, key)
		}
	}
	slices.Sort(labels)
	return labels
}
