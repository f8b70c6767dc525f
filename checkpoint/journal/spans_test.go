package journal

import (
	"testing"

	"prdrunner/checkpoint/state"
)

// TestSpansEach: a kept checkpoint needs what was on record at its commit, whether it is
// still on record or not.
func TestSpansEach(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		from, to uint64
		kept     []uint64
		needed   bool
	}{
		{name: "no checkpoint", from: 2},
		{name: "still on record, a checkpoint before", from: 4, kept: []uint64{3}},
		{name: "still on record, a checkpoint at its start", from: 4, kept: []uint64{4}, needed: true},
		{name: "still on record, a checkpoint after", from: 4, kept: []uint64{9, 3}, needed: true},
		{name: "replaced, a checkpoint between", from: 4, to: 6, kept: []uint64{5}, needed: true},
		{name: "replaced, a checkpoint at its end", from: 4, to: 6, kept: []uint64{6}},
	} {
		spans := newSpans()
		spans.closed = []span{{[]recordedName{{"a", 1}}, tt.from, tt.to}}
		var kept []*state.CheckpointRef
		for _, seq := range tt.kept {
			kept = append(kept, &state.CheckpointRef{Seq: seq})
		}
		visited := 0
		spans.Each(kept, func(_ string, _ int64, needed bool) {
			if visited++; needed != tt.needed {
				t.Errorf("%s: needed %v", tt.name, needed)
			}
		})
		if visited != 1 {
			t.Errorf("%s: %d visited", tt.name, visited)
		}
	}
}
