package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// put keeps bytes as an object, and describes them as an artifact.
func put(t testing.TB, s *Store, path, content string) state.Artifact {
	t.Helper()
	batch := s.Objects().Begin()
	ref, err := batch.Put(context.Background(), []byte(content))
	must(t, err)
	must(t, batch.Commit(context.Background()))
	return state.Artifact{Path: state.Text(path), Size: ref.Size, Mode: 0o644, Digest: ref.Digest}
}

// produce lets a workstream of wide() do its work anew.
func produce(t testing.TB, x *Session, name string, artifacts ...state.Artifact) {
	t.Helper()
	attempt := x.State().Workstream(name).Attempts + 1
	commit(t, x,
		state.WorkstreamStarted{Workstream: name, Attempt: attempt},
		state.WorkstreamCompleted{Workstream: name, Work: &state.Work{Attempt: attempt, DurationMS: 3, Artifacts: artifacts}})
}

// mark makes a checkpoint and its file.
func mark(t testing.TB, x *Session, trigger state.Trigger) string {
	t.Helper()
	id, made := x.Checkpoint(trigger, "", nil)
	if !made {
		t.Fatalf("no checkpoint: %v", x.bad)
	}
	commit(t, x)
	must(t, x.WriteDerived(context.Background(), true))
	return id
}

func lockPRD(t testing.TB, s *Store, prd string) *Session {
	t.Helper()
	x, err := s.Lock(context.Background(), prd, by)
	must(t, err)
	return x
}

func startedOf(prd, session string, n int) state.SessionStarted {
	e := started(session, wide(n))
	e.PRD = prd
	return e
}

// tick is a clock that goes on by itself and can be moved, read by several goroutines at
// once.
type tick struct {
	mu sync.Mutex
	at time.Time
}

func (c *tick) now() time.Time { return c.move(time.Millisecond) }

func (c *tick) move(by time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(by)
	return c.at
}

func newTick() *tick { return &tick{at: time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC)} }

// has reports which of the artifacts have an object.
func has(t testing.TB, s *Store, artifacts ...state.Artifact) string {
	t.Helper()
	var b strings.Builder
	for _, a := range artifacts {
		there, err := s.Objects().Has(a.Digest)
		must(t, err)
		if there {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	}
	return b.String()
}

// needsWhole fails if something that a checkpoint on the list needs is gone.
func needsWhole(t testing.TB, s *Store, prd string) {
	t.Helper()
	if lacking := lackingIn(t, s, prd); lacking != "" {
		t.Fatal(lacking)
	}
}

// lackingIn says what is gone that a state or a checkpoint on the list needs,
// or "".
func lackingIn(t testing.TB, s *Store, prd string) string {
	t.Helper()
	snap, err := s.Load(prd)
	if errors.Is(err, ErrNoSession) {
		return ""
	}
	must(t, err)
	if missing := missingOf(t, s, snap.State); missing != "" {
		return fmt.Sprintf("%s: its state has no %s", prd, missing)
	}
	for _, ref := range snap.State.Checkpoints {
		f, err := s.ReadCheckpoint(prd, ref.ID)
		must(t, err)
		if missing := missingOf(t, s, f.State); missing != "" {
			return fmt.Sprintf("%s: checkpoint %s has no %s", prd, ref.ID, missing)
		}
	}
	return ""
}

// missingOf names an object of a state that is not there, or "". It looks at
// the files through their listing, as who restores them does.
func missingOf(t testing.TB, s *Store, state *state.State) string {
	t.Helper()
	for digest := range digestsOf(t, s, state) {
		if there, err := s.Objects().Has(digest); err != nil || !there {
			return digest
		}
	}
	return ""
}

// digestsOf are the artifacts and files of a state, and its listing.
func digestsOf(t testing.TB, s *Store, current *state.State) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for w := range current.Records() {
		if max(w.WorkSeq, w.FilesSeq) <= current.EmptiedSeq { // their bytes were given up
			continue
		}
		for _, a := range w.Artifacts {
			all[a.Digest] = true
		}
	}
	for _, c := range []*state.Capture{current.Capture, current.RunCapture} {
		if c == nil {
			continue
		}
		all[c.Listing] = true
		l, err := workspace.ReadListing(context.Background(), s.Objects().Get, c.Listing)
		must(t, err)
		for _, e := range l.Entries {
			if e.Digest != "" {
				all[e.Digest] = true
			}
		}
	}
	return all
}

// everything lists the files below a directory, with their sizes and times.
func everything(t testing.TB, fsys store.FS, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := fsys.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := e.Info()
		must(t, err)
		found[path] = info.Mode().String() + " " + info.ModTime().String()
		if e.IsDir() {
			for name, what := range everything(t, fsys, path) {
				found[name] = what
			}
			continue
		}
		if info.Mode().IsRegular() {
			data, err := store.ReadFile(fsys, path)
			must(t, err)
			found[path] += " " + string(data)
		}
	}
	return found
}

func isThere(t testing.TB, s *Store, path string) bool {
	t.Helper()
	there, err := s.layout.Exists(path)
	must(t, err)
	return there
}
