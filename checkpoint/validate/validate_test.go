package validate_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/validate"
)

// forbidden is a file system that denies opening files whose path contains which.
type forbidden struct {
	store.FS
	which string // part of their paths
}

func (f forbidden) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if strings.Contains(name, f.which) && flag == os.O_RDONLY {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f.FS.OpenFile(name, flag, perm)
}

// TestForbiddenIsNoDamage denies reading objects or checkpoint files. Validating, marking
// and rebuilding must return that error, and no checkpoint may be marked as damaged.
func TestForbiddenIsNoDamage(t *testing.T) {
	t.Parallel()
	for _, which := range []string{"/objects/", "/checkpoints/"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			p := checkpointtest.NewProject(t, store.NewMemory())
			p.Begin("session-1")
			p.Options.FS = forbidden{p.FS, which}
			s := p.Open()
			w := p.Workspace(s)
			v, err := validate.Run(ctx, s, w, validate.Options{PRD: "PRD-009"})
			checkpointtest.Must(t, err)
			if valid, _ := v.Count(); valid > 0 || !errors.Is(v.Unread(), fs.ErrPermission) {
				t.Errorf("validate: %d valid, %v", valid, v.Unread())
			}
			x := checkpointtest.LockPRD(t, s, "PRD-009")
			if _, err := validate.Mark(ctx, x, v); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("mark: %v", err)
			}
			if _, err := repair.RebuildCheckpoints(ctx, x, w, nil); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("rebuild: %v", err)
			}
			for _, ref := range x.State().Checkpoints {
				if ref.Damage != nil || !ref.Valid {
					t.Errorf("%s is marked as damaged: %v", ref.ID, ref.Damage)
				}
			}
			checkpointtest.Must(t, x.Close())
		})
	}
}

// TestValidateNamesWhatIsLost removes one object at a time. A validation must name
// exactly that object.
func TestValidateNamesWhatIsLost(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	s := p.Open()
	w, found := p.Workspace(s), 0
	for object, err := range s.Objects().All(ctx) {
		checkpointtest.Must(t, err)
		path, _, err := s.Objects().Path(object.Digest)
		checkpointtest.Must(t, err)
		data, err := store.ReadFile(p.FS, path)
		checkpointtest.Must(t, err)
		checkpointtest.Must(t, p.FS.Remove(path))
		v, err := validate.Run(ctx, s, w, validate.Options{PRD: "PRD-009"})
		checkpointtest.Must(t, err)
		for _, c := range v.Sessions[0].Checkpoints {
			if found += len(c.Problems); !c.Whole() && !strings.Contains(c.Reason(), "there is no object "+object.Digest) {
				t.Errorf("without %s: %s", object.Digest, c.Reason())
			}
		}
		checkpointtest.Must(t, store.WriteFile(p.FS, path, data))
	}
	if found < 5 {
		t.Errorf("%d problems: too few", found)
	}
}
