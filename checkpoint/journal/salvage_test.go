package journal

import (
	"testing"

	"prdrunner/checkpoint/state"
)

// What is lost is counted in two ways, by the lines that can't be read and by
// the numbers that are named and not there, of which neither alone is enough.
func TestSalvagedLost(t *testing.T) {
	t.Parallel()
	const seq = 5 // of the chosen state
	for _, tt := range []struct {
		name  string
		gaps  []gap
		after []uint64 // readable commits
		last  uint64   // that anything names
		lines int
		more  bool
	}{
		{name: "nothing is lost", last: seq},
		{name: "a line before the state", gaps: []gap{{lines: 1, from: 2, before: 4}}, after: []uint64{4, 5}, last: seq},
		{name: "a line between two", gaps: []gap{{lines: 1, from: 5, before: 7}}, after: []uint64{7}, last: 7, lines: 1, more: true},
		{name: "more lines than commits fit", gaps: []gap{{lines: 4, from: 5, before: 7}}, after: []uint64{7}, last: 7, lines: 1, more: true},
		{name: "lines from before the state on", gaps: []gap{{lines: 4, from: 3, before: 8}}, after: []uint64{8}, last: 8, lines: 2, more: true},
		{name: "two at the end", gaps: []gap{{lines: 2, from: 5}}, last: seq, lines: 2, more: true},
		{name: "two at the end, of which the state has one", gaps: []gap{{lines: 2, from: 4}}, last: seq, lines: 1, more: true},
		{name: "two at the end that the state may have", gaps: []gap{{lines: 2, from: 3}}, last: seq, more: true},
		{name: "between two and at the end", gaps: []gap{{lines: 1, from: 5, before: 7}, {lines: 2, from: 7}}, after: []uint64{7}, last: 7, lines: 3, more: true},
		{name: "before a line that was moved", gaps: []gap{{lines: 3, from: 8, before: 6}}, after: []uint64{8, 6}, last: 8, lines: 3, more: true},
		{name: "before a line that was moved to before the state", gaps: []gap{{lines: 3, from: 4, before: 2}}, last: seq, lines: 3, more: true},
		{name: "between two copies of a line", gaps: []gap{{lines: 2, from: 5, before: 5}}, after: []uint64{5}, last: seq, lines: 2, more: true},
		{name: "lines that are not there", after: []uint64{7, 9}, last: 9, lines: 2, more: true},
		{name: "commits that only other files name", last: 9, lines: 4, more: true},
		{name: "a line between two, and lines that are not there", gaps: []gap{{lines: 1, from: 5, before: 7}}, after: []uint64{7, 10}, last: 10, lines: 3, more: true},
	} {
		old := &Salvaged{gaps: tt.gaps, Last: tt.last}
		for _, n := range tt.after {
			old.after = append(old.after, state.Commit{Seq: n})
		}
		if lines, more := old.Lost(seq); lines != tt.lines || more != tt.more {
			t.Errorf("%s: %d lines, more %v; want %d, %v", tt.name, lines, more, tt.lines, tt.more)
		}
	}
}
