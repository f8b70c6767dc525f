package runner_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/runner"
)

// archivedReads is a file system that counts how often files of archived sessions are
// opened.
type archivedReads struct {
	store.FS
	opened atomic.Int32
}

func (s *archivedReads) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if strings.Contains(filepath.ToSlash(name), "/.runner/failed/PRD-001") {
		s.opened.Add(1)
	}
	return s.FS.OpenFile(name, flag, perm)
}

// TestOnlyOnceReadsWhatWasSetAside: a plan and a new session read the archived sessions
// only if the pipeline has a once step.
func TestOnlyOnceReadsWhatWasSetAside(t *testing.T) {
	t.Parallel()
	const fails, pay = "phase \"one\" {\n workstream \"A\" { script = \"exit 1\" }\n}\n", "phase \"one\" {\n workstream \"pay\" {\n script = \"exit 1\"\n effect = \"once\"\n }\n}\n"
	for name, c := range map[string]struct {
		src  string
		read bool
	}{"nothing must": {src: fails}, "something must": {src: pay, read: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fsys := &archivedReads{FS: store.OS()}
			b := newBenchOn(t, fsys, fails)
			b.must(state.StatusFailed)
			session, err := b.store.Lock(t.Context(), "PRD-001", state.Actor{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := session.Abandon(state.SessionAbandoned{}); err != nil {
				t.Fatal(err)
			}
			if err := session.Close(); err != nil {
				t.Fatal(err)
			}
			b.rewrite(c.src)
			fsys.opened.Store(0)
			o := runner.Options{Pipeline: b.pipeline(), Store: b.store, Workspace: b.dir}
			if _, err := runner.Preview(t.Context(), o, nil); err != nil {
				t.Fatal(err)
			}
			if n := fsys.opened.Load(); (n > 0) != c.read {
				t.Errorf("%d files of archived sessions were opened for the plan", n)
			}
			fsys.opened.Store(0)
			if _, err := b.build(); err != nil {
				t.Fatal(err)
			}
			if n := fsys.opened.Load(); (n > 0) != c.read {
				t.Errorf("%d files of archived sessions were opened for the new session", n)
			}
		})
	}
}
