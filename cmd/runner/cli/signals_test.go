package cli

import (
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSignals: the first signal asks a command to end, and the next one ends it.
func TestSignals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		signals      []os.Signal
		continuation string
		cancelled    bool
		atOnce       []string
		line         string
	}{
		"none":      {nil, "", false, nil, "Interrupted by "},
		"one":       {[]os.Signal{syscall.SIGTERM}, "", true, nil, "Interrupted by SIGTERM"},
		"two":       {[]os.Signal{syscall.SIGHUP, os.Interrupt}, "", true, []string{"SIGINT: Interrupted by SIGINT"}, "Interrupted by SIGHUP"},
		"quit":      {[]os.Signal{syscall.SIGQUIT}, "runner x", false, []string{"SIGQUIT: Interrupted by SIGQUIT: `runner x` does the rest"}, "Interrupted by SIGQUIT: `runner x` does the rest"},
		"unchanged": {[]os.Signal{os.Interrupt}, "runner x", true, nil, "Interrupted by SIGINT: nothing was started, and the session has not changed"},
		"other":     {[]os.Signal{os.Interrupt}, "runner x", true, nil, "Interrupted by SIGINT: `runner x` does the rest"},
	} {
		var s Signals
		var ended []string
		ctx, cancel := context.WithCancel(t.Context())
		s.cancel, s.atOnce = cancel, func(name, what string) { ended = append(ended, name+": "+what) }
		s.ResumeWith(test.continuation)
		s.Unchanged(name == "unchanged")
		restored := 0
		s.RestoreWith(func() { restored++ })
		for _, sig := range test.signals {
			s.handleSignal(sig)
		}
		_, line := s.Interruption("")
		if (ctx.Err() != nil) != test.cancelled || line != test.line {
			t.Errorf("%s: cancelled %v, %q", name, ctx.Err() != nil, line)
		}
		if restored != len(test.atOnce) {
			t.Errorf("%s: the terminal is restored %d times, and the process ended %d times", name, restored, len(test.atOnce))
		}
		s.withLock(func() { // the process would be ended later, too
			if diff := cmp.Diff(test.atOnce, ended); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		})
		cancel()
	}
}

// TestSignalsOfARun: a run gets the first two signals, the second of which cancels its
// context; SIGQUIT counts as two. After the run, signals end the command again.
func TestSignalsOfARun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		signals   []os.Signal
		names     []string
		cancelled bool
	}{
		"one":           {[]os.Signal{os.Interrupt}, []string{"SIGINT"}, false},
		"two":           {[]os.Signal{os.Interrupt, syscall.SIGTERM}, []string{"SIGINT", "SIGTERM"}, true},
		"quit":          {[]os.Signal{syscall.SIGQUIT}, []string{"SIGQUIT", "SIGQUIT"}, true},
		"quit at last":  {[]os.Signal{os.Interrupt, syscall.SIGQUIT}, []string{"SIGINT", "SIGQUIT"}, true},
		"more than two": {[]os.Signal{os.Interrupt, os.Interrupt, syscall.SIGTERM}, []string{"SIGINT", "SIGINT"}, true},
	} {
		var s Signals
		cancelled := false
		s.cancel = func() { cancelled = true }
		ctx, names, release := s.HandOver(t.Context())
		for _, sig := range test.signals {
			s.handleSignal(sig)
		}
		if (ctx.Err() != nil) != test.cancelled || cancelled {
			t.Errorf("%s: the run was cancelled: %v, the command: %v", name, ctx.Err() != nil, cancelled)
		}
		var got []string
		for len(names) > 0 {
			got = append(got, <-names)
		}
		if diff := cmp.Diff(test.names, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		release()
		if s.handleSignal(os.Interrupt); !cancelled {
			t.Errorf("%s: after the run a signal ends nothing", name)
		}
	}
}
