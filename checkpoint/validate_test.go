package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"prdrunner/checkpoint/store"
)

// forbidden is a file system of which some files may not be opened.
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

// TestForbiddenIsNoDamage: where the files of checkpoints may not be read, who
// validates or rebuilds is told that, and nothing is marked as damaged.
func TestForbiddenIsNoDamage(t *testing.T) {
	t.Parallel()
	for _, which := range []string{"/objects/", "/checkpoints/"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			p := newProject(t, store.NewMemory())
			p.begin("session-1")
			p.o.FS = forbidden{p.fs, which}
			s := p.open()
			w := p.workspace(s)
			v, err := Validate(ctx, s, w, ValidateOptions{PRD: "PRD-009"})
			must(t, err)
			if valid, _ := v.Count(); valid > 0 || !errors.Is(v.Unread(), fs.ErrPermission) {
				t.Errorf("validate: %d valid, %v", valid, v.Unread())
			}
			x := lockPRD(t, s, "PRD-009")
			if _, err := Mark(ctx, x, v); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("mark: %v", err)
			}
			if _, err := Rebuild(ctx, x, w, nil); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("rebuild: %v", err)
			}
			for _, ref := range x.State().Checkpoints {
				if ref.Damage != nil || !ref.Valid {
					t.Errorf("%s is marked as damaged: %v", ref.ID, ref.Damage)
				}
			}
			must(t, x.Close())
		})
	}
}

// TestValidateNamesWhatIsLost: whichever object is lost, it is the one that is named.
func TestValidateNamesWhatIsLost(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newProject(t, store.NewMemory())
	p.begin("session-1")
	s := p.open()
	w, found := p.workspace(s), 0
	for object, err := range s.Objects().All(ctx) {
		must(t, err)
		path, _, err := s.Objects().Path(object.Digest)
		must(t, err)
		data, err := store.ReadFile(p.fs, path)
		must(t, err)
		must(t, p.fs.Remove(path))
		v, err := Validate(ctx, s, w, ValidateOptions{PRD: "PRD-009"})
		must(t, err)
		for _, c := range v.Sessions[0].Checkpoints {
			if found += len(c.Problems); !c.Whole() && !strings.Contains(c.Reason(), "there is no object "+object.Digest) {
				t.Errorf("without %s: %s", object.Digest, c.Reason())
			}
		}
		must(t, store.WriteFile(p.fs, path, data))
	}
	if found < 5 {
		t.Errorf("%d problems: too few", found)
	}
}
