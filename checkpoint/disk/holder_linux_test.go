package disk_test

import (
	"testing"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
)

// TestHasEnded: a holder has ended if that can be proved on this machine.
func TestHasEnded(t *testing.T) {
	t.Parallel()
	me := disk.NewHolder(state.Actor{User: "ana"}, time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC))
	for name, tt := range map[string]struct {
		change       func(h *disk.Holder)
		local, ended bool
	}{
		"this process":                {func(*disk.Holder) {}, true, false},
		"an earlier one with its PID": {func(h *disk.Holder) { h.StartTime = "1" }, true, true},
		"of a time unknown":           {func(h *disk.Holder) { h.StartTime = "" }, true, false},
		"a PID that no process has":   {func(h *disk.Holder) { h.PID = 1 << 30 }, true, true},
		"before the machine started":  {func(h *disk.Holder) { h.BootID = "earlier" }, false, true},
		"of a boot unknown":           {func(h *disk.Holder) { h.BootID = "" }, false, false},
		"in another container":        {func(h *disk.Holder) { h.PIDNamespace, h.PID = "pid:[1]", 1<<30 }, false, false},
		"on another host":             {func(h *disk.Holder) { h.Host, h.BootID = "elsewhere.example", "other" }, false, false},
		"on no host":                  {func(h *disk.Holder) { h.Host = "" }, false, false},
	} {
		h := me
		tt.change(&h)
		if h.IsLocal() != tt.local || h.HasEnded() != tt.ended || h.IsStopped() {
			t.Errorf("%s: local %t, ended %t, stopped %t", name, h.IsLocal(), h.HasEnded(), h.IsStopped())
		}
	}
}
