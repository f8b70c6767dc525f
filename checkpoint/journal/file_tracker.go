package journal

import "prdrunner/checkpoint/state"

// FileTracker knows the digest of each recorded file, to tell whether a workstream created
// or modified an artifact. It looks only at workstreams that an event changes, so a
// boundary costs what changed, not what exists.
type FileTracker struct {
	known map[state.Text]string // digest of each artifact when a workstream that has it completed last; "": not known
}

func newFileTracker() *FileTracker { return &FileTracker{known: map[state.Text]string{}} }

// adoptState starts from a state without its events.
func (t *FileTracker) adoptState(s *state.State) {
	clear(t.known)
	newest := map[state.Text]uint64{}
	for w := range s.Records() {
		seq := w.RecordedSeq()
		for _, a := range w.Artifacts {
			digest := a.Digest
			if w.Status != state.Completed && w.WorkSeq > 0 { // Change compares with the file before the run
				if a.Change == state.FileCreated {
					continue
				}
				if a.Change == state.FileModified {
					digest = ""
				}
			}
			if had, ok := newest[a.Path]; !ok || seq >= had {
				t.known[a.Path], newest[a.Path] = digest, seq
			}
		}
	}
}

// Mark returns the event with the Change of each of its artifacts set.
func (t *FileTracker) Mark(s *state.State, e state.Event) state.Event {
	switch e := e.(type) {
	case state.WorkstreamSucceeded:
		e.Work.Artifacts = t.compare(e.Work.Artifacts)
		return e
	case state.WorkstreamCompleted:
		if e.Work != nil {
			work := *e.Work
			work.Artifacts = t.compare(work.Artifacts)
			e.Work = &work
		}
		return e
	case state.WorkstreamEdited:
		w := s.Workstream(e.Workstream)
		if w == nil || w.Status != state.Completed {
			e.Artifacts = t.compare(e.Artifacts)
			return e
		}
		did := make(map[state.Text]state.FileChange, len(w.Artifacts)) // a person's later edit is not the step's change
		for _, a := range w.Artifacts {
			did[a.Path] = a.Change
		}
		e.Artifacts = marked(e.Artifacts, func(a state.Artifact) state.FileChange { return did[a.Path] })
		return e
	}
	return e
}

// compare sets the Change of each artifact.
func (t *FileTracker) compare(list []state.Artifact) []state.Artifact {
	return marked(list, func(a state.Artifact) state.FileChange {
		switch digest, had := t.known[a.Path]; {
		case !had:
			return state.FileCreated
		case digest != a.Digest:
			return state.FileModified
		}
		return ""
	})
}

// marked returns a copy of a list with the Change of each artifact set.
func marked(list []state.Artifact, change func(state.Artifact) state.FileChange) []state.Artifact {
	if len(list) == 0 {
		return list
	}
	c := make([]state.Artifact, len(list))
	for i, a := range list {
		a.Change = change(a)
		c[i] = a
	}
	return c
}

// observe learns from an event that was folded into the state.
func (t *FileTracker) observe(s *state.State, e state.Event) {
	switch e := e.(type) {
	case state.SessionStarted:
		t.adoptState(s)
	case state.RollbackCompleted:
		if e.State != nil {
			t.adoptState(s)
		}
	case state.WorkstreamCompleted:
		t.recordFiles(s.Workstream(e.Workstream))
	case state.WorkstreamEdited:
		if w := s.Workstream(e.Workstream); w.Status == state.Completed {
			t.recordFiles(w)
		}
	}
}

func (t *FileTracker) recordFiles(w *state.Workstream) {
	for _, a := range w.Artifacts {
		t.known[a.Path] = a.Digest
	}
}
