package main

import (
	"slices"
	"testing"
)

// TestGraphs: every step waits for earlier ones only, each of them once, and a
// shape is what it is called.
func TestGraphs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		of    func(int) graph
		waits [2]int // the fewest and the most that a step after the first waits for
	}{
		{"wide", wide, [2]int{0, 0}},
		{"deep", deep, [2]int{1, 1}},
		{"diamond", diamond, [2]int{1, 8}},
		{"random", random, [2]int{0, 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := tt.of(200)
			if g.shape != tt.name || len(g.steps) != 200 {
				t.Fatalf("got %d steps, %s", len(g.steps), g.shape)
			}
			place := map[string]int{}
			fewest, most := len(g.steps), 0
			for i, s := range g.steps {
				for _, on := range s.on {
					if at, ok := place[on]; !ok || at >= i {
						t.Errorf("%s waits for %s", s.name, on)
					}
				}
				if len(slices.Compact(slices.Sorted(slices.Values(s.on)))) != len(s.on) {
					t.Errorf("%s waits for %q", s.name, s.on)
				}
				place[s.name] = i
				if i > 0 {
					fewest, most = min(fewest, len(s.on)), max(most, len(s.on))
				}
			}
			if got := [2]int{fewest, most}; got != tt.waits {
				t.Errorf("steps wait for %v others, want %v", got, tt.waits)
			}
		})
	}
}
