package journal

import (
	"slices"

	"prdrunner/checkpoint/state"
)

// Spans records, per list of artifacts and per capture, the range of commits in which
// it was current. With it the end of a run finds the objects that no checkpoint needs
// without reading the journal again.
type Spans struct {
	Behind  bool                // checkpoints exist from before the journal's first line
	open    map[string]openSpan // by workstream: its artifacts
	left    map[string]openSpan // by workstream: the artifacts that failed attempts changed
	held    map[string]openSpan // by workstream: the files that its held result replaces
	capture openCapture
	run     openCapture
	closed  []span
}

// openSpan is a list of artifacts that is still current, and the commit that recorded it.
type openSpan struct {
	list []state.Artifact
	from uint64
}

// openCapture is the capture that is still current, and the commit that recorded it.
type openCapture struct {
	*state.Capture
	from uint64
}

// span names the objects that were on record in the states from commit `from` up to,
// but not including, commit `to`. An open span has to = 0.
type span struct {
	names    []recordedName
	from, to uint64
}

type recordedName struct {
	digest string
	size   int64
}

func newSpans() *Spans {
	return &Spans{open: map[string]openSpan{}, left: map[string]openSpan{}, held: map[string]openSpan{}}
}

// adoptState starts from a state of which no events are known.
func (t *Spans) adoptState(s *state.State) {
	t.Behind = len(s.Checkpoints) > 0
	t.compare(s, s.Seq)
	t.capture, t.run = openCapture{s.Capture, s.Seq}, openCapture{s.RunCapture, s.Seq}
}

// observe takes in what an event of a commit made of the state.
func (t *Spans) observe(s *state.State, seq uint64, e state.Event) {
	switch e := e.(type) {
	case state.SessionStarted, state.SessionResumed, state.PhaseExpanded, state.PhaseSkipped, state.RollbackCompleted:
		t.compare(s, seq)
	case state.CheckpointsRemoved:
		if e.Empties {
			t.compare(s, seq)
		}
	default:
		if name, ok := state.WorkstreamOf(e); ok {
			t.updateSpan(s, name, seq)
		}
	}
	t.capture = t.replaceCapture(t.capture, s.Capture, seq)
	t.run = t.replaceCapture(t.run, s.RunCapture, seq)
}

// compare updates every workstream, also those that no longer have a record.
func (t *Spans) compare(s *state.State, seq uint64) {
	for name := range t.open {
		t.updateSpan(s, name, seq)
	}
	for w := range s.Records() {
		t.updateSpan(s, w.Name, seq)
	}
}

// updateSpan updates one workstream.
func (t *Spans) updateSpan(s *state.State, name string, seq uint64) {
	var left, held []state.Artifact
	if w := s.Workstream(name); w != nil {
		left, held = w.LeftFiles(), w.HeldFiles()
	}
	t.replace(t.open, name, s.ArtifactsOf(name), seq)
	t.replace(t.left, name, left, seq)
	t.replace(t.held, name, held, seq)
}

func (t *Spans) replace(open map[string]openSpan, name string, list []state.Artifact, seq uint64) {
	had := open[name]
	if len(had.list) == len(list) && (len(list) == 0 || &had.list[0] == &list[0]) {
		return
	}
	if len(had.list) > 0 {
		t.closed = append(t.closed, had.spanUntil(seq))
	}
	if len(had.list)+len(list) > 0 {
		open[name] = openSpan{list, seq}
	}
}

func (o openSpan) spanUntil(to uint64) span {
	names := make([]recordedName, len(o.list))
	for i, a := range o.list {
		names[i] = recordedName{a.Digest, a.Size}
	}
	return span{names, o.from, to}
}

func (t *Spans) replaceCapture(had openCapture, now *state.Capture, seq uint64) openCapture {
	if had.Capture == now {
		return had
	}
	t.closed = append(t.closed, had.spansUntil(seq)...)
	return openCapture{now, seq}
}

func (o openCapture) spansUntil(to uint64) []span {
	if o.Capture == nil {
		return nil
	}
	return []span{{[]recordedName{{o.Listing, o.ShallowSize()}}, o.from, to}}
}

// Each names every digest that was ever on record, with its size, and says whether a
// state at one of the kept checkpoints needs it.
func (t *Spans) Each(kept []*state.CheckpointRef, visit func(digest string, size int64, needed bool)) {
	seqs := make([]uint64, len(kept))
	for i, ref := range kept {
		seqs[i] = ref.Seq
	}
	slices.Sort(seqs)
	add := func(s span) {
		i, _ := slices.BinarySearch(seqs, s.from)
		needed := i < len(seqs) && (s.to == 0 || seqs[i] < s.to)
		for _, n := range s.names {
			visit(n.digest, n.size, needed)
		}
	}
	for _, s := range t.closed {
		add(s)
	}
	for _, open := range []map[string]openSpan{t.open, t.left, t.held} {
		for _, o := range open {
			add(o.spanUntil(0))
		}
	}
	for _, s := range slices.Concat(t.capture.spansUntil(0), t.run.spansUntil(0)) {
		add(s)
	}
}
