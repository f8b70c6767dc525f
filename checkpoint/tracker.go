package checkpoint

// tracker knows which files are on record, so that a workstream's artifacts can
// be compared with those before. It looks only at the workstreams that something
// happens to: a boundary costs what changed, not what exists.
type tracker struct {
	known map[Text]string // digest of each artifact, as of the last completion of a workstream that has it; "": not known
}

func newTracker() *tracker { return &tracker{known: map[Text]string{}} }

// adopt starts from a state of which no events are known.
func (t *tracker) adopt(s *State) {
	clear(t.known)
	newest := map[Text]uint64{}
	for w := range s.Records() {
		seq := w.recordedSeq()
		for _, a := range w.Artifacts {
			digest := a.Digest
			if w.Status != Completed && w.WorkSeq > 0 { // compared with what was there before it ran
				if a.Change == FileCreated {
					continue
				}
				if a.Change == FileModified {
					digest = ""
				}
			}
			if had, ok := newest[a.Path]; !ok || seq >= had {
				t.known[a.Path], newest[a.Path] = digest, seq
			}
		}
	}
}

// mark returns an event about work with what that did to each of its artifacts.
func (t *tracker) mark(s *State, e Event) Event {
	switch e := e.(type) {
	case WorkstreamSucceeded:
		e.Work.Artifacts = t.compare(e.Work.Artifacts)
		return e
	case WorkstreamCompleted:
		if e.Work != nil {
			work := *e.Work
			work.Artifacts = t.compare(work.Artifacts)
			e.Work = &work
		}
		return e
	case WorkstreamEdited:
		w := s.Workstream(e.Workstream)
		if w == nil || w.Status != Completed {
			e.Artifacts = t.compare(e.Artifacts)
			return e
		}
		did := make(map[Text]FileChange, len(w.Artifacts)) // what a person did later is not the step's
		for _, a := range w.Artifacts {
			did[a.Path] = a.Change
		}
		e.Artifacts = marked(e.Artifacts, func(a Artifact) FileChange { return did[a.Path] })
		return e
	}
	return e
}

// compare marks artifacts by what is known.
func (t *tracker) compare(list []Artifact) []Artifact {
	return marked(list, func(a Artifact) FileChange {
		switch digest, had := t.known[a.Path]; {
		case !had:
			return FileCreated
		case digest != a.Digest:
			return FileModified
		}
		return ""
	})
}

// marked returns a copy of a list with the change of each file.
func marked(list []Artifact, change func(Artifact) FileChange) []Artifact {
	if len(list) == 0 {
		return list
	}
	c := make([]Artifact, len(list))
	for i, a := range list {
		a.Change = change(a)
		c[i] = a
	}
	return c
}

// observe takes in an event that is folded into the state.
func (t *tracker) observe(s *State, e Event) {
	switch e := e.(type) {
	case SessionStarted:
		t.adopt(s)
	case RollbackCompleted:
		if e.State != nil {
			t.adopt(s)
		}
	case WorkstreamCompleted:
		t.learn(s.Workstream(e.Workstream))
	case WorkstreamEdited:
		if w := s.Workstream(e.Workstream); w.Status == Completed {
			t.learn(w)
		}
	}
}

func (t *tracker) learn(w *Workstream) {
	for _, a := range w.Artifacts {
		t.known[a.Path] = a.Digest
	}
}
