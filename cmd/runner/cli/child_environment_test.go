package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChildEnvironment(t *testing.T) {
	t.Parallel()
	got := (&Environment{Environ: []string{"PATH=/bin", "PRDRUNNER_VAR_password=x", "RUNNER_SESSION=s", "RUNNER_STATE_DIR=/s", "RUNNER_TEMP=/tmp", "PRDRUNNER_PARALLEL=2"}}).ChildEnvironment()
	if diff := cmp.Diff([]string{"PATH=/bin", "RUNNER_TEMP=/tmp", "PRDRUNNER_PARALLEL=2"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
