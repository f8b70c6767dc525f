package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Salvaged is what can be read of a damaged journal.
type Salvaged struct {
	Valid      *Fold             // the lines before the damage; its State is nil if there are none
	Unreadable int               // number of lines that can't be read
	Sums       map[uint64]string // checksums of commits, from their own line or the next one
	Last       uint64            // highest commit number that can be read

	log   store.Log
	lines int            // number of lines before the damage
	after []state.Commit // the commits after the damage
	gaps  []gap
}

// gap is a place in a journal where lines can't be read.
type gap struct {
	lines  int
	from   uint64 // commit of the readable line before the gap; 0 if there is none
	before uint64 // commit of the readable line after the gap; 0 if there is none
}

// Salvage reads the lines of a journal that can be read, one at a time. A line of a newer
// version is a *state.VersionError, which names path.
func Salvage(path string, log store.Log) (*Salvaged, error) {
	s := &Salvaged{Valid: NewFold(), Sums: map[uint64]string{}, log: log}
	t, f, whole := Tail{Sum: Genesis}, NewFold(), true
	hole := gap{}
	for r, err := range log.Records() {
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		c, err := decodeLine(&t, r, &whole)
		var version *state.VersionError
		switch {
		case errors.As(err, &version):
			return nil, &state.VersionError{Path: path, Version: version.Version}
		case err != nil:
			s.Unreadable++
			hole.lines++
			continue
		}
		hole = s.closeGap(hole, c.Seq)
		if whole && f.Apply(c) != nil {
			whole = false
		}
		s.Sums[c.Seq], s.Sums[c.Seq-1] = c.Sum, c.Prev
		s.Last = max(s.Last, c.Seq)
		if !whole {
			s.after = append(s.after, c)
			continue
		}
		t.Accept(c, len(r.Data))
		s.lines++
	}
	s.closeGap(hole, 0)
	// A failed Apply may have left f unusable, so the valid lines are folded again.
	return s, s.EachValid(s.Valid.Apply)
}

// closeGap records a gap that ends before a commit, if it has lines. It returns the
// beginning of the next gap.
func (s *Salvaged) closeGap(hole gap, before uint64) gap {
	if hole.before = before; hole.lines > 0 {
		s.gaps = append(s.gaps, hole)
	}
	return gap{from: before}
}

// decodeLine decodes one line. As long as the chain is whole the line must continue it;
// after that only the line's own checksum must be right.
func decodeLine(t *Tail, r store.Record, whole *bool) (state.Commit, error) {
	if *whole {
		c, err := t.Next(r)
		if err == nil {
			return c, nil
		}
		*whole = false
	}
	return anyLine(r)
}

// anyLine decodes a line whose own checksum is right, at any place in a journal.
func anyLine(r store.Record) (state.Commit, error) {
	f, err := ParseFrame(bytes.TrimSuffix(r.Data, []byte("\n")), "")
	if err != nil {
		return state.Commit{}, err
	}
	return f.Commit()
}

// EachValid calls visit with each commit before the damage.
func (s *Salvaged) EachValid(visit func(state.Commit) error) error {
	for r, err := range Take(s.log.Records(), s.lines) {
		var c state.Commit
		if err == nil {
			c, err = anyLine(r)
		}
		if err == nil {
			err = visit(c)
		}
		if err != nil {
			return fmt.Errorf("read the journal: %w", err)
		}
	}
	return nil
}

// Since returns the readable commits after the damage whose number is above seq, by their
// numbers. A commit that is there twice is returned once.
func (s *Salvaged) Since(seq uint64) []state.Commit {
	found := slices.DeleteFunc(slices.Clone(s.after), func(c state.Commit) bool { return c.Seq <= seq })
	slices.SortStableFunc(found, func(a, b state.Commit) int { return cmp.Compare(a.Seq, b.Seq) })
	return slices.CompactFunc(found, func(a, b state.Commit) bool { return a.Seq == b.Seq })
}

// Lost returns how many commits above seq are proved to have existed and can't be read.
// Unreadable lines between two readable lines are the commits between these two.
// Unreadable lines that no readable line follows are commits after the last readable line.
// more reports that there may have been more commits, since an unreadable line may hold
// several.
func (s *Salvaged) Lost(seq uint64) (commits int, more bool) {
	for _, g := range s.gaps {
		from := max(g.from, seq)
		switch {
		case g.before > from+1:
			commits += min(g.lines, int(g.before-from-1))
		case g.before > g.from: // the gap is before seq
		case g.before > 0: // the lines are out of order
			commits += g.lines
		default:
			more = true
			commits += int(max(g.from+uint64(g.lines), from) - from)
		}
	}
	if s.Last > seq {
		commits = max(commits, int(s.Last-seq)-len(s.Since(seq)))
	}
	return commits, more || commits > 0
}
