package rollback

import (
	"bytes"
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
)

// damages returns the ways to damage a file, with the resulting content; nil means that
// the file is deleted.
func damages(file []byte) map[string][]byte {
	flipped := bytes.Clone(file)
	flipped[len(file)/2] ^= 0xff
	return map[string][]byte{"flipped": flipped, "emptied": {}, "cut": file[:len(file)/2], "deleted": nil}
}

// atRest saves a file, and returns once the file is so old that captures rely on its
// times. Later captures then do not read the file, and so do not repair its object by
// chance.
func atRest(p *checkpointtest.Project, path, content string) {
	p.T.Helper()
	const margin = 50 * time.Millisecond // longer than a capture requires
	p.Save(path, content)
	saved, err := os.Stat(filepath.Join(p.Root, filepath.FromSlash(path)))
	checkpointtest.Must(p.T, err)
	for probe := filepath.Join(p.T.TempDir(), "probe"); ; runtime.Gosched() {
		checkpointtest.Must(p.T, os.WriteFile(probe, nil, 0o600))
		now, err := os.Stat(probe)
		checkpointtest.Must(p.T, err)
		if now.ModTime().Sub(saved.ModTime()) > margin {
			return
		}
	}
}

// TestRollbackSecuresWhatItOverwrites damages the object of a captured file and rolls
// back over the file. The rollback must store the file again first, so that an undo
// restores the file.
func TestRollbackSecuresWhatItOverwrites(t *testing.T) {
	t.Parallel()
	for what := range damages([]byte("content")) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			p := checkpointtest.NewProject(t, store.NewMemory())
			p.Begin("session-1")
			s := p.Open()
			w, x := p.Workspace(s), checkpointtest.LockPRD(t, s, "PRD-009")
			to := p.State().Checkpoints[0].ID
			atRest(p, "user.txt", "important")
			p.Capture(x, w, state.TriggerManual)
			path := objectOf(p, x, w, "user.txt")
			damage(p, path, what)

			done, err := Run(ctx, x, w, Options{To: to})
			checkpointtest.Must(t, err)
			if _, err := os.Stat(filepath.Join(p.Root, "user.txt")); err == nil {
				t.Fatal("the file still exists")
			}
			_, err = Run(ctx, x, w, Options{To: done.Safety})
			checkpointtest.Must(t, err)
			holds(p, "user.txt", "important")
			checkpointtest.Must(t, x.Close())
		})
	}
}

// TestRollbackSecuresBlobs is TestRollbackSecuresWhatItOverwrites for a file whose
// content is an object of git. Captures rely on the object once the user has committed it.
func TestRollbackSecuresBlobs(t *testing.T) {
	t.Parallel()
	for what := range damages([]byte("content")) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			rollbackSecuresBlob(t, what, false)
		})
		t.Run(what+", committed", func(t *testing.T) {
			t.Parallel()
			rollbackSecuresBlob(t, what, true)
		})
	}
}

func rollbackSecuresBlob(t *testing.T, what string, committed bool) {
	t.Helper()
	ctx := context.Background()
	s := newGitProject(t, map[string]string{"user.txt": "first"})
	important := strings.Repeat("important ", 100)
	s.Put(map[string]string{"user.txt": important})
	s.Git("add", "user.txt") // stored as a loose object of git
	if committed {
		s.Git("-c", "user.name=ana", "-c", "user.email=ana@example.com", "commit", "--quiet", "-m", "one")
	}
	_, err := s.Session.Create(ctx, s.Workspace, "")
	checkpointtest.Must(t, err)
	g, err := git.Open(ctx, gittest.Commander{}, s.Root)
	checkpointtest.Must(t, err)
	h := g.NewBlobHash(int64(len(important)))
	_, _ = h.Write([]byte(important))
	damageLoose(t, s.Root, hex.EncodeToString(h.Sum(nil)), what)

	done, err := Run(ctx, s.Session, s.Workspace, Options{To: s.Target})
	checkpointtest.Must(t, err)
	s.Holds("rolled back", map[string]string{"user.txt": "first"})
	_, err = Run(ctx, s.Session, s.Workspace, Options{To: done.Safety})
	checkpointtest.Must(t, err)
	s.Holds("undone", map[string]string{"user.txt": important})
}

func objectOf(p *checkpointtest.Project, x *checkpoint.Session, w *workspace.Workspace, path string) string {
	p.T.Helper()
	l, err := w.Load(context.Background(), x.State().Capture.Listing)
	checkpointtest.Must(p.T, err)
	for _, e := range l.Entries {
		if e.Path == path {
			object, _, err := x.Store().Objects().Path(e.Digest)
			checkpointtest.Must(p.T, err)
			return object
		}
	}
	p.T.Fatalf("%s was not captured", path)
	return ""
}

// damageLoose damages a loose object of git.
func damageLoose(t *testing.T, ws, name, what string) {
	t.Helper()
	path := filepath.Join(ws, ".git", "objects", name[:2], name[2:])
	data, err := os.ReadFile(path)
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, os.Remove(path))
	if wrong := damages(data)[what]; wrong != nil {
		checkpointtest.Must(t, os.WriteFile(path, wrong, 0o444))
	}
}

func damage(p *checkpointtest.Project, path, what string) {
	p.T.Helper()
	data, err := store.ReadFile(p.FS, path)
	checkpointtest.Must(p.T, err)
	if wrong := damages(data)[what]; wrong != nil {
		checkpointtest.Must(p.T, store.WriteFile(p.FS, path, wrong))
	} else {
		checkpointtest.Must(p.T, p.FS.Remove(path))
	}
}

func holds(p *checkpointtest.Project, path, want string) {
	p.T.Helper()
	got, err := os.ReadFile(filepath.Join(p.Root, filepath.FromSlash(path)))
	checkpointtest.Must(p.T, err)
	checkpointtest.Same(p.T, path, string(got), want)
}
