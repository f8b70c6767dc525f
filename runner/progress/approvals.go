package progress

// approvals are the gates of a phase and of its workstreams at which a person is asked.
type approvals struct {
	list    []*approval // in the order of the file
	byLabel map[string]*approval
	byOwner map[string][]*approval // those of workstreams, by the workstream
	open    int                    // how many have no answer
	from    int                    // none before it in list is open
}

// approval is a gate at which a person is asked.
type approval struct {
	label    string
	at       int  // in the list
	answered bool // also if nobody will be asked
	settled  bool // its workstream has ended
}

func (a *approval) open() bool { return !a.answered && !a.settled }

// Approvals returns how many gates of the current phase wait for the answer of a person, or will ask for one, and
// the label of the first of them. It knows no gate that will ask if the pipeline is not known.
func (p *Progress) Approvals() (first string, n int) {
	a := &p.approvals
	for key, active := range p.active {
		if active.Activity == Asking && a.byLabel[key] == nil {
			if n++; first == "" || key < first {
				first = key
			}
		}
	}
	for a.open > 0 && a.from < len(a.list) && !a.list[a.from].open() {
		a.from++
	}
	if a.open > 0 {
		first = a.list[a.from].label
	}
	return first, n + a.open
}

// findApprovals finds the gates of the current phase at which a person is asked.
func (p *Progress) findApprovals() {
	p.approvals = approvals{byLabel: map[string]*approval{}, byOwner: map[string][]*approval{}}
	known := p.knownPipeline()
	if known == nil || p.current == nil || p.current.Number < 1 || p.current.Number > len(known.Phases) {
		return
	}
	phase := known.Phases[p.current.Number-1]
	for _, ws := range phase.Workstreams {
		for _, g := range ws.Gates {
			if g.Approval != nil || g.Pause || p.pauseAtGates {
				s := p.steps[ws.Name]
				p.approvals.add(g.Label(), ws.Name, p.answered[g.Label()], s != nil && s.status > asking)
			}
		}
	}
	for _, g := range phase.Gates {
		if g.Approval != nil || g.Pause || p.pauseAtGates {
			p.approvals.add(g.Label(), "", p.answered[g.Label()], false)
		}
	}
}

// add adds a gate. owner is its workstream, "" for a gate of the phase.
func (a *approvals) add(label, owner string, answered, settled bool) {
	one := &approval{label: label, at: len(a.list), answered: answered, settled: settled}
	a.list, a.byLabel[label] = append(a.list, one), one
	if owner != "" {
		a.byOwner[owner] = append(a.byOwner[owner], one)
	}
	if one.open() {
		a.open++
	}
}

// change changes a gate, and counts it anew.
func (a *approvals) change(one *approval, answered, settled bool) {
	if one.open() {
		a.open--
	}
	if one.answered, one.settled = answered, settled; one.open() {
		a.open++
		a.from = min(a.from, one.at)
	}
}

// settle takes note of whether a workstream has ended.
func (a *approvals) settle(workstream string, ended bool) {
	for _, one := range a.byOwner[workstream] {
		a.change(one, one.answered, ended)
	}
}

// answer takes note of whether a person has answered at a gate.
func (p *Progress) answer(gate string, answered bool) {
	p.answered[gate] = answered
	if one := p.approvals.byLabel[gate]; one != nil {
		p.approvals.change(one, answered, one.settled)
	}
}
