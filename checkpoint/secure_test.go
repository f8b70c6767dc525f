package checkpoint_test

import (
	"context"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/validate"
)

// TestCreateMendsTouched damages the object of a captured file, and writes the same file
// again. The next checkpoint must replace the damaged object, although the content did
// not change.
func TestCreateMendsTouched(t *testing.T) {
	t.Parallel()
	for what := range checkpointtest.Damages([]byte("content")) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			p := checkpointtest.NewProject(t, store.NewMemory())
			p.Begin("session-1")
			s := p.Open()
			w, x := p.Workspace(s), checkpointtest.LockPRD(t, s, "PRD-009")
			p.Save("user.txt", "important")
			p.Capture(x, w, state.TriggerManual)
			checkpointtest.DamageFile(p, checkpointtest.ObjectOf(p, x, w, "user.txt"), what)
			p.Save("user.txt", "important")
			_, err := x.Create(ctx, w, "")
			checkpointtest.Must(t, err)
			checkpointtest.Must(t, x.Close())
			v, err := validate.Run(ctx, s, w, validate.Options{PRD: "PRD-009", Deep: true})
			checkpointtest.Must(t, err)
			for _, session := range v.Sessions {
				for _, c := range session.Checkpoints {
					if !c.Whole() {
						t.Errorf("%s: %v", c.Ref.ID, c.Problems)
					}
				}
			}
		})
	}
}
