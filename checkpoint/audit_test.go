package checkpoint_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
)

// unopened is a file system on which the audit log can be opened only left more times.
type unopened struct {
	store.FS
	left int
}

func (u *unopened) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if filepath.Base(name) == disk.AuditName {
		if u.left == 0 {
			return nil, faults.ErrDisk
		}
		u.left--
	}
	return u.FS.OpenFile(name, flag, perm)
}

// TestAudited makes opening the audit log fail before or after an operation. An operation
// that can't be recorded must not run, and the PRD can't be locked. If only the record
// after the operation fails, Options.Late must be told.
func TestAudited(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opened     int
		fails      bool
		done, told bool
		err        bool
	}{
		"written":                    {opened: 2, done: true},
		"not to be written":          {opened: 0, err: true},
		"not written afterwards":     {opened: 1, done: true, told: true},
		"failed":                     {opened: 2, fails: true, done: true, err: true},
		"failed, and not written":    {opened: 1, fails: true, done: true, told: true, err: true},
		"failed, could not be begun": {opened: 0, fails: true, err: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := checkpointtest.InMemory(t)
			u := &unopened{FS: f.FS, left: 1}
			var told error
			o := f.Options
			o.FS, o.Late = u, func(err error) { told = err }
			s, err := checkpoint.OpenStore(f.Dir, o)
			checkpointtest.Must(t, err)
			checkpointtest.Must(t, s.Audit(checkpoint.AuditRecord{What: "build"}))
			u.left = c.opened
			done := false
			err = s.Audited(&checkpoint.AuditRecord{What: "checkpoint rollback"}, func() error {
				done = true
				if c.fails {
					return state.ErrNoCheckpoint
				}
				return nil
			})
			if done != c.done || (told != nil) != c.told || (err != nil) != c.err || done && c.fails && !errors.Is(err, state.ErrNoCheckpoint) {
				t.Errorf("done %v, told %v, error %v", done, told, err)
			}
			if c.opened > 0 {
				return
			}
			if _, err := s.Lock(t.Context(), "PRD-001", state.Actor{}); !errors.Is(err, faults.ErrDisk) {
				t.Errorf("lock although the audit log can't be opened: %v", err)
			}
		})
	}
}
