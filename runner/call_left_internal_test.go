package runner

import (
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
)

// TestContinuesAfter: work that ended since the owner of the root took the lock is of its run, even if
// an event of another command has moved RunningAt.
func TestContinuesAfter(t *testing.T) {
	t.Parallel()
	at := func(minute int) time.Time { return time.Date(2025, 12, 11, 10, minute, 0, 0, time.UTC) }
	moved := at(10)
	for name, tt := range map[string]struct {
		owner *disk.Holder
		ended time.Time
		want  bool
	}{
		"of this run":        {&disk.Holder{Since: at(3)}, at(5), false},
		"of an earlier run":  {&disk.Holder{Since: at(3)}, at(2), true},
		"before the session": {&disk.Holder{Since: at(3)}, at(0), false},
		"without an owner":   {nil, at(5), true},
	} {
		root := &checkpoint.Snapshot{Current: reader.Current{State: &state.State{CreatedAt: at(1), RunningAt: &moved}}, Owner: tt.owner}
		if got := continuesAfter(root, tt.ended); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
