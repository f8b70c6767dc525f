package checkpoint

import (
	"slices"

	"prdrunner/checkpoint/state"
)

// spans are from which commit to which other one a session had lists of
// artifacts and captures on record. With them the end of a run finds what no
// checkpoint needs any more without reading the journal again.
type spans struct {
	behind  bool                // there are checkpoints of before the journal's first line
	open    map[string]openSpan // by the workstream
	left    map[string]openSpan // likewise, what attempts that failed left
	capture openCapture
	run     openCapture
	closed  []span
}

// openSpan is what a workstream has on record, and since which commit.
type openSpan struct {
	list []state.Artifact
	from uint64
}

// openCapture is likewise a capture.
type openCapture struct {
	*state.Capture
	from uint64
}

// span is what was on record in the states from one commit up to, and without,
// another. A span that is not closed has no end.
type span struct {
	names    []recordedName
	from, to uint64
}

type recordedName struct {
	digest string
	size   int64
}

func newSpans() *spans { return &spans{open: map[string]openSpan{}, left: map[string]openSpan{}} }

// adopt starts from a state of which no events are known.
func (t *spans) adopt(s *state.State) {
	t.behind = len(s.Checkpoints) > 0
	t.compare(s, s.Seq)
	t.capture, t.run = openCapture{s.Capture, s.Seq}, openCapture{s.RunCapture, s.Seq}
}

// observe takes in what an event of a commit made of the state.
func (t *spans) observe(s *state.State, seq uint64, e state.Event) {
	switch e := e.(type) {
	case state.SessionStarted, state.SessionResumed, state.PhaseSkipped, state.RollbackCompleted:
		t.compare(s, seq)
	case state.CheckpointsRemoved:
		if e.Empties {
			t.compare(s, seq)
		}
	default:
		if name, ok := state.WorkstreamOf(e); ok {
			t.take(s, name, seq)
		}
	}
	t.capture = t.replaceCapture(t.capture, s.Capture, seq)
	t.run = t.replaceCapture(t.run, s.RunCapture, seq)
}

// compare looks at every workstream, those of which nothing is on record any
// more included.
func (t *spans) compare(s *state.State, seq uint64) {
	for name := range t.open {
		t.take(s, name, seq)
	}
	for w := range s.Records() {
		t.take(s, w.Name, seq)
	}
}

// take looks at one workstream.
func (t *spans) take(s *state.State, name string, seq uint64) {
	var left []state.Artifact
	if w := s.Workstream(name); w != nil {
		left = w.LeftFiles()
	}
	t.replace(t.open, name, s.ArtifactsOf(name), seq)
	t.replace(t.left, name, left, seq)
}

func (t *spans) replace(open map[string]openSpan, name string, list []state.Artifact, seq uint64) {
	had := open[name]
	if len(had.list) == len(list) && (len(list) == 0 || &had.list[0] == &list[0]) {
		return
	}
	if len(had.list) > 0 {
		t.closed = append(t.closed, had.until(seq))
	}
	if len(had.list)+len(list) > 0 {
		open[name] = openSpan{list, seq}
	}
}

func (o openSpan) until(to uint64) span {
	names := make([]recordedName, len(o.list))
	for i, a := range o.list {
		names[i] = recordedName{a.Digest, a.Size}
	}
	return span{names, o.from, to}
}

func (t *spans) replaceCapture(had openCapture, now *state.Capture, seq uint64) openCapture {
	if had.Capture == now {
		return had
	}
	t.closed = append(t.closed, had.until(seq)...)
	return openCapture{now, seq}
}

func (o openCapture) until(to uint64) []span {
	if o.Capture == nil {
		return nil
	}
	return []span{{[]recordedName{{o.Listing, o.ShallowSize()}}, o.from, to}}
}

// names adds to one side all that was ever on record, and to the other what the states at the kept checkpoints need of that.
func (t *spans) names(kept []*state.CheckpointRef, ever, needed *references) {
	seqs := make([]uint64, len(kept))
	for i, ref := range kept {
		seqs[i] = ref.Seq
	}
	slices.Sort(seqs)
	add := func(s span) {
		i, _ := slices.BinarySearch(seqs, s.from)
		covered := i < len(seqs) && (s.to == 0 || seqs[i] < s.to)
		for _, n := range s.names {
			ever.add(n.digest, n.size)
			if covered {
				needed.add(n.digest, n.size)
			}
		}
	}
	for _, s := range t.closed {
		add(s)
	}
	for _, open := range []map[string]openSpan{t.open, t.left} {
		for _, o := range open {
			add(o.until(0))
		}
	}
	for _, s := range slices.Concat(t.capture.until(0), t.run.until(0)) {
		add(s)
	}
}
