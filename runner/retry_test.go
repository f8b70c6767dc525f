package runner_test

import (
	"slices"
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
)

// TestARetryComesBeforeWhatHasNotBeenStarted: a retry that is due takes the next slot,
// even if many workstreams wait for a slot.
func TestARetryComesBeforeWhatHasNotBeenStarted(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "flaky" {
    script = "echo flaky >> ran; test $RUNNER_ATTEMPT -ge 3"
    retry {
      attempts         = 3
      initial_interval = "1ms"
      max_interval     = "1ms"
    }
  }
  workstream "others" {
    for_each = toset(["a", "b", "c", "d", "e", "f"])
    script   = "sleep 0.2; echo ${each.key} >> ran"
  }
}
`)
	b.must(state.StatusComplete, func(o *runner.Options) { o.Parallel = 1 })
	if got, want := b.ran(), []string{"flaky", "a", "flaky", "b", "flaky", "c", "d", "e", "f"}; !slices.Equal(got, want) {
		t.Errorf("%q ran, want %q", got, want)
	}
}

// TestAttemptsThatAreCalledOffAreCounted: a workstream is not retried because another one
// has failed. The error of the workstream says how many attempts were made.
func TestAttemptsThatAreCalledOffAreCounted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ flaky, other, want string }{
		"while it waits for its next one": {
			"exit 1", "until grep -q attempt_failed .runner/PRD-001/journal.jsonl; do :; done; exit 2",
			"1 of 20 attempts, not tried again, since other failed: exit code 1",
		},
		"while it runs its second one": {
			"test $RUNNER_ATTEMPT = 1 && exit 1; touch second; until grep -q other-failed ran 2> /dev/null; do :; done; sleep 0.3; exit 1",
			"until test -e second; do :; done; echo other-failed >> ran; exit 2",
			"2 of 20 attempts, not tried again, since other failed: exit code 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			interval := "1h"
			if strings.Contains(test.flaky, "second") {
				interval = "1ms"
			}
			b := newBench(t, `
phase "one" {
  workstream "flaky" {
    script = "`+test.flaky+`"
    retry {
      attempts         = 20
      initial_interval = "`+interval+`"
      max_interval     = "`+interval+`"
    }
  }
  workstream "other" { script = "`+test.other+`" }
}
`)
			e := b.must(state.StatusFailed, func(o *runner.Options) { o.Parallel = 2 })
			if len(e.Failed) != 2 || e.Error.Workstream != "other" {
				t.Errorf("failures %+v, and the error of the session is %+v", e.Failed, e.Error)
			}
			flaky := b.state().Workstream("flaky")
			if flaky.Status != state.Failed || string(flaky.Error.Message) != test.want {
				t.Errorf("flaky is %s: %+v, want %q", flaky.Status, flaky.Error, test.want)
			}
		})
	}
}
