// Package journal encodes the commits of a session as lines, reads them back, and verifies
// that each continues the previous one. FORMAT.md in the directory of package checkpoint
// describes the lines.
//
//	Encoder.Line: Commit → line        ParseFrame, Frame.Commit: line → Commit
//	Replay: log → each Commit → Fold   (state, known files, spans of artifacts)
//	Salvage: a damaged log → Salvaged  (what can still be read)
//
// Package checkpoint decides where a journal is on disk and which process may append to it.
// Package state decides what an event means. To add an event, decode it in decode_event.go.
package journal

import (
	"errors"
	"fmt"
	"iter"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Tail is where a journal ends.
type Tail struct {
	First uint64 // Seq of the first line
	Seq   uint64 // Seq of the last valid line; 0: the journal has no valid line
	Sum   string // sum of the last valid line; Genesis: the journal has no valid line
	Lines int    // number of valid lines
	Size  int64  // bytes of the valid lines
	Torn  []byte // bytes after the valid lines: the rest of a write that was cut short
}

// Replay reads a journal and hands every commit to visit, once its place in
// the chain is verified. Only the last line may be torn; any other mistake is
// a *DamagedError, or a *VersionError.
func Replay(prd, path string, log store.Log, visit func(state.Commit) error) (Tail, error) {
	return ReplayRecords(prd, path, log.Records(), visit)
}

// ReplayRecords is Replay for records that are not in a log, such as those of an archive.
func ReplayRecords(prd, path string, records iter.Seq2[store.Record, error], visit func(state.Commit) error) (Tail, error) {
	t := Tail{Sum: Genesis}
	for r, err := range records {
		if err != nil {
			return t, fmt.Errorf("read the journal: %w", err)
		}
		if t.Torn != nil {
			return t, DamagedLine(prd, path, r.Line-1, "it is not whole, and others follow")
		}
		c, err := t.Next(r)
		switch {
		case errors.Is(err, ErrIncomplete):
			t.Torn = append([]byte{}, r.Data...)
			continue
		case err == nil:
			err = visit(c)
		}
		if err != nil {
			return t, Explain(prd, path, r.Line, err)
		}
		t.Accept(c, len(r.Data))
	}
	return t, nil
}

// Next decodes a record and verifies that it continues the chain.
func (t *Tail) Next(r store.Record) (state.Commit, error) {
	if r.Torn {
		return state.Commit{}, fmt.Errorf("%w, no newline", ErrIncomplete)
	}
	f, err := ParseFrame(r.Data[:len(r.Data)-1], t.Sum)
	if err != nil {
		return state.Commit{}, err
	}
	first := t.Lines == 0 && t.Seq == 0
	switch {
	case t.Lines == 0 && f.state: // compacted: the chain continues from a line that was removed
	case f.state:
		return state.Commit{}, fmt.Errorf("%w: a state that is not the first line", ErrLine)
	case !first && f.Seq != t.Seq+1:
		return state.Commit{}, fmt.Errorf("%w: commit %d follows commit %d", ErrLine, f.Seq, t.Seq)
	case f.prev != t.Sum:
		return state.Commit{}, fmt.Errorf("%w: it does not continue the line before it", ErrLine)
	}
	c, err := f.Commit()
	switch {
	case err != nil:
	case c.State != nil && c.State.Seq != c.Seq:
		err = fmt.Errorf("%w: a state of another commit", ErrLine)
	case c.State == nil && first && c.Seq != c.FirstSeq():
		err = fmt.Errorf("%w: commit %d is not the first one of its session", ErrLine, c.Seq)
	}
	return c, err
}

// Accept moves the tail past a commit that Next returned, whose line has size bytes.
func (t *Tail) Accept(c state.Commit, size int) {
	if t.Lines == 0 {
		t.First = c.Seq
	}
	t.Seq, t.Sum = c.Seq, c.Sum
	t.Lines++
	t.Size += int64(size)
}

// Explain turns the error of a line into one that names the file, the line and a remedy.
func Explain(prd, path string, line int, err error) error {
	var version *state.VersionError
	switch {
	case errors.As(err, &version):
		return &state.VersionError{Path: path, Version: version.Version}
	case errors.Is(err, ErrLine), errors.Is(err, state.ErrFold):
		return DamagedLine(prd, path, line, err.Error())
	}
	return err
}

// DamagedLine returns the error for a line that can't be read.
func DamagedLine(prd, path string, line int, detail string) *state.DamagedError {
	return &state.DamagedError{Path: path, Line: line, Detail: detail, Remedy: state.AbandonRemedy(prd)}
}

// Fold is what the commits of a journal add up to.
type Fold struct {
	State *state.State
	Files *FileTracker // nil in a fold of NewFold
	Spans *Spans       // nil in a fold of NewFold
}

// NewFold returns a fold that keeps the state only, for readers.
func NewFold() *Fold { return &Fold{} }

// NewOwnerFold returns a fold that also keeps what the owner of a session needs to add
// to the journal.
func NewOwnerFold() *Fold { return &Fold{Files: newFileTracker(), Spans: newSpans()} }

// Apply adds a commit, which may be the state that a compacted journal begins with.
func (f *Fold) Apply(c state.Commit) error {
	if f.State == nil {
		f.State = &state.State{}
	}
	if c.State != nil {
		if err := f.State.Apply(c); err != nil {
			return err
		}
		if f.Files != nil {
			f.Files.adoptState(f.State)
		}
		if f.Spans != nil {
			f.Spans.adoptState(f.State)
		}
		return nil
	}
	for i, e := range c.Events {
		if err := f.ApplyEvent(c.Seq, &c, i, e); err != nil {
			return err
		}
	}
	return nil
}

// ApplyEvent adds the i-th event of a commit.
func (f *Fold) ApplyEvent(seq uint64, c *state.Commit, i int, e state.Event) error {
	if err := f.State.ApplyOne(seq, c.At(i), e); err != nil {
		return err
	}
	if f.Files != nil {
		f.Files.observe(f.State, e)
	}
	if f.Spans != nil {
		f.Spans.observe(f.State, seq, e)
	}
	return nil
}

// Take yields the first n records of a log.
func Take(records iter.Seq2[store.Record, error], n int) iter.Seq2[store.Record, error] {
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

// CheckClaims returns a *state.DamagedError if a file that was derived from the journal at
// path names a commit after its end. s is the state after the last commit, nil if there is
// none.
func (t *Tail) CheckClaims(prd, path string, s *state.State, claims []disk.Claim) error {
	for _, c := range claims {
		if c.Seq > t.Seq && (s == nil || c.Session == s.Session) {
			return DamagedLine(prd, path, t.Lines+1, fmt.Sprintf("it ends with commit %d, but %s names commit %d", t.Seq, c.Path, c.Seq))
		}
	}
	return nil
}
