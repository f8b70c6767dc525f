package reader_test

import (
	"context"
	"errors"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
)

// TestRereadUntilItSucceeds: reading is repeated while it does not succeed and what is read
// changes, at most ten times, and not after it was canceled.
func TestRereadUntilItSucceeds(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		changes int // loads that return something new
		fails   int // reads that fail
		amiss   int // reads that find something amiss
		err     error
		reads   int
		want    error
	}{
		"succeeds at once":             {changes: 99, reads: 1},
		"fails, and nothing changes":   {fails: 99, err: broken, reads: 1, want: broken},
		"fails until a change":         {changes: 1, fails: 1, err: broken, reads: 2},
		"fails after the last change":  {changes: 2, fails: 99, err: broken, reads: 3, want: broken},
		"fails while it changes":       {changes: 99, fails: 99, err: broken, reads: 10, want: broken},
		"amiss until a change":         {changes: 1, amiss: 1, reads: 2},
		"amiss, and nothing changes":   {amiss: 99, reads: 1},
		"canceled, although it varies": {changes: 99, fails: 99, err: context.Canceled, reads: 1, want: context.Canceled},
	} {
		loads, reads := -1, 0
		load := func() (int, error) { loads++; return min(loads, tt.changes), nil }
		err := reader.Reread(load, func(a, b int) bool { return a == b }, func(int) (bool, error) {
			if reads++; reads <= tt.fails {
				return false, tt.err
			}
			return reads <= tt.amiss, nil
		})
		if reads != tt.reads || !errors.Is(err, tt.want) {
			t.Errorf("%s: %d reads, %v, want %d, %v", name, reads, err, tt.reads, tt.want)
		}
	}
	err := reader.Reread(func() (int, error) { return 0, broken }, nil, func(int) (bool, error) { return false, nil })
	if !errors.Is(err, broken) {
		t.Errorf("a value that can't be loaded: %v", err)
	}
}

// TestRereadIfChanged: a failed read is repeated if a session of the PRD has another commit
// since, and its error is returned if none has.
func TestRereadIfChanged(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Run()
	r := x.Store().Reader()
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		commit bool
		want   error
		reads  int
	}{"changed": {true, nil, 3}, "unchanged": {false, broken, 2}} {
		reads := 0
		err := r.RereadIfChanged("PRD-009", func() error {
			if reads++; reads == 3 {
				return nil
			}
			if reads == 2 && tt.commit {
				checkpointtest.Commit(t, x, state.SessionResumed{})
			}
			return broken
		})
		if reads != tt.reads || !errors.Is(err, tt.want) {
			t.Errorf("%s: %d reads, %v, want %d, %v", name, reads, err, tt.reads, tt.want)
		}
	}
	if err := r.RereadIfChanged("", func() error { return nil }); err != nil {
		t.Errorf("a read that succeeds: %v", err)
	}
	checkpointtest.Must(t, x.Close())
}

// TestSameCommit compares states by session and commit.
func TestSameCommit(t *testing.T) {
	t.Parallel()
	a := &state.State{Session: "A", Seq: 1}
	for _, tt := range []struct {
		a, b *state.State
		want bool
	}{
		{nil, nil, true}, {a, nil, false}, {nil, a, false}, {a, &state.State{Session: "A", Seq: 1}, true},
		{a, &state.State{Session: "A", Seq: 2}, false}, {a, &state.State{Session: "B", Seq: 1}, false},
	} {
		if got := reader.SameCommit(tt.a, tt.b); got != tt.want {
			t.Errorf("%q and %q are the same commit: %t, want %t", checkpointtest.SeqOf(tt.a), checkpointtest.SeqOf(tt.b), got, tt.want)
		}
	}
}
