package checkpoint

// Files are the artifacts that were made and changed since the checkpoint
// before.
type Files struct {
	Created  []Text `json:"created"`
	Modified []Text `json:"modified"`
}

// tracker follows which files change from one checkpoint to the next. It looks
// only at the workstreams that something happened to, so that a checkpoint
// costs what changed, not what exists.
type tracker struct {
	known    map[Text]string // digest of each artifact at the last checkpoint
	touched  []string        // workstreams since then
	lastStep string          // the workstream completed last
	files    map[string]Files
}

func newTracker() *tracker { return &tracker{known: map[Text]string{}, files: map[string]Files{}} }

// adopt starts from a state of which no events are known.
func (t *tracker) adopt(s *State) {
	for w := range s.Records() {
		if w.Step > 0 && w.Step == s.Steps {
			t.lastStep = w.Name
		}
		for _, a := range w.Artifacts {
			t.known[a.Path] = a.Digest
		}
	}
}

// rebase goes on from a state that the session went back to.
func (t *tracker) rebase(s *State) {
	clear(t.known)
	t.touched, t.lastStep = nil, ""
	t.adopt(s)
}

// before is told of an event before it is folded into the state.
func (t *tracker) before(s *State, e Event) {
	if c, ok := e.(CheckpointCreated); ok {
		t.cut(s, c.ID)
	}
}

// observe notes which workstream's artifacts an event may have changed, once it is
// folded into the state.
func (t *tracker) observe(s *State, e Event) {
	switch e := e.(type) {
	case SessionStarted:
		t.adopt(s)
	case RollbackCompleted:
		if e.State != nil {
			t.rebase(s)
		}
	case WorkstreamSucceeded:
		t.touched = append(t.touched, e.Workstream)
	case WorkstreamCompleted:
		t.lastStep = e.Workstream
		if e.Work != nil {
			t.touched = append(t.touched, e.Workstream)
		}
	case WorkstreamEdited:
		t.touched = append(t.touched, e.Workstream)
	}
}

// cut ends the span of a checkpoint, and keeps the files of it under its id;
// asked again, it gives the same.
func (t *tracker) cut(s *State, id string) Files {
	if f, ok := t.files[id]; ok {
		return f
	}
	f := Files{Created: []Text{}, Modified: []Text{}}
	for _, name := range t.touched {
		w := s.Workstream(name)
		if w == nil {
			continue // it went back to before the pipeline had it
		}
		for _, a := range w.Artifacts {
			digest, had := t.known[a.Path]
			switch {
			case !had:
				f.Created = append(f.Created, a.Path)
			case digest != a.Digest:
				f.Modified = append(f.Modified, a.Path)
			}
			t.known[a.Path] = a.Digest
		}
	}
	t.touched = t.touched[:0]
	t.files[id] = f
	return f
}

// forget drops what was kept for a checkpoint.
func (t *tracker) forget(id string) { delete(t.files, id) }
