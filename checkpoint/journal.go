package checkpoint

import (
	"errors"
	"fmt"
	"iter"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// tail is where a journal ends.
type tail struct {
	first uint64 // Seq of the first line
	seq   uint64 // of the last valid line, 0 if there is none
	sum   string // likewise
	lines int    // how many are valid
	size  int64  // of the valid lines
	torn  []byte // what comes after them: the rest of a write that was cut short
}

// replay reads a journal and hands every commit to visit, once its place in
// the chain is verified. Only the last line may be torn; any other mistake is
// a *DamagedError, or a *VersionError.
func replay(prd, path string, log store.Log, visit func(state.Commit) error) (tail, error) {
	return replayRecords(prd, path, log.Records(), visit)
}

func replayRecords(prd, path string, records iter.Seq2[store.Record, error], visit func(state.Commit) error) (tail, error) {
	t := tail{sum: genesis}
	for r, err := range records {
		if err != nil {
			return t, fmt.Errorf("read the journal: %w", err)
		}
		if t.torn != nil {
			return t, damagedLine(prd, path, r.Line-1, "it is not whole, and others follow")
		}
		c, err := t.next(r)
		switch {
		case errors.Is(err, errIncomplete):
			t.torn = append([]byte{}, r.Data...)
			continue
		case err == nil:
			err = visit(c)
		}
		if err != nil {
			return t, explain(prd, path, r.Line, err)
		}
		t.accept(c, len(r.Data))
	}
	return t, nil
}

// next decodes a record and verifies that it continues the chain.
func (t *tail) next(r store.Record) (state.Commit, error) {
	if r.Torn {
		return state.Commit{}, fmt.Errorf("%w, no newline", errIncomplete)
	}
	f, err := parseFrame(r.Data[:len(r.Data)-1], t.sum)
	if err != nil {
		return state.Commit{}, err
	}
	first := t.lines == 0 && t.seq == 0
	switch {
	case t.lines == 0 && f.state: // compacted: the chain goes on from what is gone
	case f.state:
		return state.Commit{}, fmt.Errorf("%w: a state that is not the first line", ErrLine)
	case !first && f.seq != t.seq+1:
		return state.Commit{}, fmt.Errorf("%w: commit %d follows commit %d", ErrLine, f.seq, t.seq)
	case f.prev != t.sum:
		return state.Commit{}, fmt.Errorf("%w: it does not continue the line before it", ErrLine)
	}
	c, err := f.commit()
	switch {
	case err != nil:
	case c.State != nil && c.State.Seq != c.Seq:
		err = fmt.Errorf("%w: a state of another commit", ErrLine)
	case c.State == nil && first && c.Seq != c.FirstSeq():
		err = fmt.Errorf("%w: commit %d is not the first one of its session", ErrLine, c.Seq)
	}
	return c, err
}

func (t *tail) accept(c state.Commit, size int) {
	if t.lines == 0 {
		t.first = c.Seq
	}
	t.seq, t.sum = c.Seq, c.Sum
	t.lines++
	t.size += int64(size)
}

// explain turns what is wrong with a line into an error for people.
func explain(prd, path string, line int, err error) error {
	var version *state.VersionError
	switch {
	case errors.As(err, &version):
		return &state.VersionError{Path: path, Version: version.Version}
	case errors.Is(err, ErrLine), errors.Is(err, state.ErrFold):
		return damagedLine(prd, path, line, err.Error())
	}
	return err
}

func damagedLine(prd, path string, line int, detail string) *state.DamagedError {
	return &state.DamagedError{Path: path, Line: line, Detail: detail, Remedy: abandonRemedy(prd)}
}

func abandonRemedy(prd string) string {
	return fmt.Sprintf("nothing was changed; `runner checkpoint rebuild %[1]s --journal` begins it anew from what is proved, `runner abandon %[1]s` sets all of it aside under %[2]s/", prd, failedDir)
}

// lostRemedy is abandonRemedy where there is nothing to begin anew from.
func lostRemedy(prd string) string {
	return fmt.Sprintf("nothing was changed; nothing is left either that it could be begun anew from: put back a copy of its directory, or `runner abandon %[1]s` sets what is left aside under %[2]s/, and `runner build %[1]s` starts a new session", prd, failedDir)
}

// fold is a state that follows a journal, and what else is known from it.
type fold struct {
	state *state.State
	files *tracker // nil but for an owner's
	spans *spans   // nil but for an owner's
}

// newFold is for who only needs the state.
func newFold() *fold { return &fold{} }

// newOwnersFold is for who goes on with the session.
func newOwnersFold() *fold { return &fold{files: newTracker(), spans: newSpans()} }

func (f *fold) apply(c state.Commit) error {
	if f.state == nil {
		f.state = &state.State{}
	}
	if c.State != nil {
		if err := f.state.Apply(c); err != nil {
			return err
		}
		if f.files != nil {
			f.files.adopt(f.state)
		}
		if f.spans != nil {
			f.spans.adopt(f.state)
		}
		return nil
	}
	for i, e := range c.Events {
		if err := f.applyEvent(c.Seq, &c, i, e); err != nil {
			return err
		}
	}
	return nil
}

func (f *fold) applyEvent(seq uint64, c *state.Commit, i int, e state.Event) error {
	if err := f.state.ApplyOne(seq, c.At(i), e); err != nil {
		return err
	}
	if f.files != nil {
		f.files.observe(f.state, e)
	}
	if f.spans != nil {
		f.spans.observe(f.state, seq, e)
	}
	return nil
}

// take yields the first n records of a log.
func take(records iter.Seq2[store.Record, error], n int) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if n == 0 {
			return
		}
		for r, err := range records {
			if !yield(r, err) || err != nil || r.Line == n {
				return
			}
		}
	}
}
