package state

// Reshaped returns a copy of the state with the phases, workstreams and gates of a shape.
func (s *State) Reshaped(shape Shape) *State {
	c := s.Clone()
	c.reshape(shape)
	return c
}

// reshape makes the state's phases, workstreams and gates those of the shape. An element
// that keeps its name keeps its record. The record of a workstream that the pipeline no
// longer has is kept in Gone until the pipeline has it again, so that a workstream that
// must happen only once does not happen again because a file was edited twice.
func (s *State) reshape(shape Shape) {
	old := s.indexed()
	current := ""
	if 0 < s.CurrentPhase && s.CurrentPhase <= len(s.Phases) {
		current = s.Phases[s.CurrentPhase-1].Name
	}
	phases := make([]*Phase, len(shape.Phases))
	has := make(map[string]bool)
	for i, ps := range shape.Phases {
		p := &Phase{Name: ps.Name, Status: Pending}
		if had := old.phases[ps.Name]; had != nil {
			*p = *had
		}
		p.Title, p.Iteration = ps.Title, ps.iteration(p.Iteration)
		p.Workstreams = make([]*Workstream, len(ps.Workstreams))
		for j, ws := range ps.Workstreams {
			p.Workstreams[j] = reshapeWorkstream(old, ws)
			has[ws.Name] = true
		}
		p.Gates = reshapeGates(old, ps.Gates, ps.Name)
		phases[i] = p
	}
	s.Gone, s.Agents = s.without(has), shape.Agents
	s.Phases, s.index = phases, nil
	s.CurrentPhase = min(s.CurrentPhase, len(phases))
	for i, p := range phases {
		if p.Name == current {
			s.CurrentPhase = i + 1 // the phase may have moved
		}
	}
	s.indexed()
}

func reshapeWorkstream(old *index, ws WorkstreamShape) *Workstream {
	w := &Workstream{Name: ws.Name, Status: Pending}
	if had := old.workstreams[ws.Name]; had != nil {
		*w = *had
	}
	w.Title, w.Batch, w.Once, w.Agent = ws.Title, ws.Batch, ws.Once, ws.Agent
	w.Gates = reshapeGates(old, ws.Gates, ws.Name)
	if w.Status == Completed && !passed(w.Gates) {
		w.Status = Succeeded // a gate is new: the work is done, but not all gates have passed
	}
	return w
}

// without returns the records of workstreams that the pipeline no longer has. Those that
// never ran and were never decided are dropped, and those whose expressions could not be
// evaluated.
func (s *State) without(has map[string]bool) []*Workstream {
	var gone []*Workstream
	for w := range s.Records() {
		nothing := w.Attempts == 0 && (w.Status == Pending || w.Status == Skipped || w.Status == Failed)
		if has[w.Name] || nothing {
			continue
		}
		stopGates(w.Gates, "its verdict was never recorded")
		w.endRunning("its end was never recorded")
		gone = append(gone, w)
	}
	return gone
}

func passed(gates []*Gate) bool {
	for _, g := range gates {
		if g.Status != Passed && g.Status != Skipped {
			return false
		}
	}
	return true
}

func reshapeGates(old *index, names []string, owner string) []*Gate {
	if len(names) == 0 {
		return nil
	}
	gates := make([]*Gate, len(names))
	for i, name := range names {
		label := Label(name, owner)
		gates[i] = &Gate{Label: label, Status: Pending}
		if had := old.gates[label]; had != nil {
			*gates[i] = *had // a removed workstream may have had the gate
		}
	}
	return gates
}
