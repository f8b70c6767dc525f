package validate_test

import (
	"context"
	"fmt"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/validate"
)

// TestInspectLeftOut: an inspection lists the files that a capture left out.
func TestInspectLeftOut(t *testing.T) {
	t.Parallel()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Save(".env", "secret")
	p.Begin("session-1")
	s := p.Open()
	st := p.State()
	last := st.Checkpoints[len(st.Checkpoints)-1]
	found, err := validate.Inspect(context.Background(), s, p.Workspace(s), st, last)
	checkpointtest.Must(t, err)
	if got := fmt.Sprint(found.LeftOut, found.Unstable, found.Special); got != "[.env] [] []" || !found.Check.Current {
		t.Errorf("left out %s, current %t", got, found.Check.Current)
	}
	first, err := validate.Inspect(context.Background(), s, nil, st, st.Checkpoints[0])
	checkpointtest.Must(t, err)
	if first.LeftOut != nil || first.Check.Current || first.Check.Objects != validate.FoundUnknown {
		t.Errorf("without a workspace: %+v", first)
	}
}
