package inspect

import "testing"

// TestLogRoom: a few failures have whole ends of logs, many share the room, and of very many the first ones have some.
func TestLogRoom(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int][2]int{0: {64 << 10, 4}, 1: {64 << 10, 4}, 4: {64 << 10, 4}, 8: {32 << 10, 8}, 64: {4 << 10, 64}, 1000: {4 << 10, 64}} {
		if each, first := logRoom(failures); each != want[0] || first != want[1] {
			t.Errorf("%d failures: %d bytes for the first %d, want %v", failures, each, first, want)
		}
	}
}
