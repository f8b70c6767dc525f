//go:build unix

package workspace

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const refusedWord = "hunter22-hunter22"

// finder is a detector of refusedWord.
type finder struct{ seen bytes.Buffer }

func (f *finder) Write(p []byte) (int, error) { return f.seen.Write(p) }
func (f *finder) Found() bool                 { return bytes.Contains(f.seen.Bytes(), []byte(refusedWord)) }

func refusing(w *Workspace) *Workspace {
	w.Refuse(func() Detector { return &finder{} })
	return w
}

// TestKeepRefuses keeps files, some of which hold a sensitive value, including one that
// spans two reads and one that is in the cache.
func TestKeepRefuses(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	refusing(w)
	across := strings.Repeat("x", bufferSize-5) + refusedWord + strings.Repeat("y", 3*bufferSize)
	put(t, dir, "a", "nothing")
	put(t, dir, "b", "before "+refusedWord+" after")
	put(t, dir, "c", across)
	must(t, os.Symlink(refusedWord, filepath.Join(dir, "link")))
	names := []string{"a", "b", "c", "link"}
	for range 2 {
		kept, left, err := w.Keep(t.Context(), names)
		must(t, err)
		if want := []string{"b", "c", "link"}; !slices.Equal(left, want) {
			t.Errorf("left out %q, want %q", left, want)
		}
		for i, e := range kept {
			there, err := w.o.Objects.Has(e.Digest)
			must(t, err)
			if there != (names[i] == "a") {
				t.Errorf("%s is kept: %v", names[i], there)
			}
		}
		if kept[1].Digest != shaOf("before "+refusedWord+" after") || kept[2].Digest != shaOf(across) {
			t.Errorf("described as %+v", kept)
		}
	}
}

// TestCaptureRefuses captures a file that holds a sensitive value. Neither a change of
// its times nor a detector that does not know the value makes a capture include it, and a
// rollback does not touch it.
func TestCaptureRefuses(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	refusing(w)
	put(t, dir, "in/a", "nothing")
	o := CaptureOptions{Patterns: []string{"in/**"}}
	put(t, dir, "in/b", "before "+refusedWord)
	first, err := w.Capture(t.Context(), o)
	must(t, err)
	o.Last = &first.Capture
	second, err := w.Capture(t.Context(), o)
	must(t, err)
	if want := []string{"in/b"}; !slices.Equal(first.LeftOut, want) || !slices.Equal(second.LeftOut, want) || second.Changed {
		t.Errorf("captured %+v, then %+v", first, second)
	}
	later := open(t, keeperOptions(dir))
	third, err := later.Capture(t.Context(), o)
	must(t, err)
	if !slices.Equal(third.LeftOut, []string{"in/b"}) {
		t.Errorf("a workspace without a detector captured %+v", third)
	}
	there, err := w.o.Objects.Has(shaOf("before " + refusedWord))
	must(t, err)
	if there {
		t.Error("the value is in an object")
	}
	now, err := later.Now(t.Context(), o.Patterns)
	must(t, err)
	target, err := later.Load(t.Context(), first.Listing)
	must(t, err)
	if changes := Diff(now, target); len(changes) != 0 {
		t.Errorf("a rollback would make the changes %+v", changes)
	}
}

// TestCaptureRefusesGit captures files in a git work tree, some of which hold a sensitive
// value: no commit and no object has the value, unless git had it already.
func TestCaptureRefusesGit(t *testing.T) {
	t.Parallel()
	for _, mode := range []GitMode{GitRef, GitCommit} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			w, dir := gitKeeper(t, "", mode)
			runGit(t, dir, "config", "user.name", "u")
			runGit(t, dir, "config", "user.email", "u@localhost")
			put(t, dir, "had", "git had "+refusedWord)
			put(t, dir, "edited", "nothing")
			runGit(t, dir, "add", "-A", ".")
			runGit(t, dir, "commit", "-q", "-m", "first")
			refusing(w)
			put(t, dir, "edited", "edited "+refusedWord)
			put(t, dir, "new", "new "+refusedWord)
			put(t, dir, "plain", "nothing")
			must(t, os.Symlink(refusedWord, filepath.Join(dir, "link")))
			c, l := captureSparse(t, w, nil, 1)
			if want := []string{"edited", "link", "new"}; !slices.Equal(c.LeftOut, want) || !slices.Equal(l.LeftOut, want) {
				t.Errorf("left out %q, the listing %q, want %q", c.LeftOut, l.LeftOut, want)
			}
			if want := []string{"had", "plain"}; !slices.Equal(paths(l.Entries), want) {
				t.Errorf("captured %q, want %q", paths(l.Entries), want)
			}
			has := runGit(t, dir, "cat-file", "--batch-all-objects", "--batch")
			if n := strings.Count(has, refusedWord); n != 1 {
				t.Errorf("git has the value %d times, want once", n)
			}
			for digest, err := range w.o.Objects.All(t.Context()) {
				must(t, err)
				if data, err := w.o.Objects.Get(t.Context(), digest.Digest, 1<<20); err != nil || strings.Contains(string(data), refusedWord) {
					t.Errorf("an object holds %q, %v", data, err)
				}
			}
		})
	}
}

// TestHandOverRefuses: a value that is written after the file was scanned is found when
// the file is passed to git, and the file is excluded.
func TestHandOverRefuses(t *testing.T) {
	t.Parallel()
	w, dir := gitKeeper(t, "", GitRef)
	put(t, dir, "f", "nothing")
	put(t, dir, "other", "other")
	s, err := newSurvey(t.Context(), w, nil)
	must(t, err)
	put(t, dir, "f", "by now "+refusedWord)
	refusing(w)
	c := &capture{w: w, o: CaptureOptions{Message: "m", When: time.Unix(1e9, 0)}, survey: s, batch: w.o.Objects.Begin()}
	commit, err := c.commit(t.Context(), "refs/runner/test/1")
	must(t, errors.Join(err, c.batch.Abandon()))
	must(t, s.dropUnreadable())
	if files := runGit(t, dir, "ls-tree", "-r", "--name-only", commit); files != "other\n" || !slices.Equal(s.unstable, []string{"f"}) {
		t.Errorf("the commit has %q, left out is %q", files, s.unstable)
	}
	if has := runGit(t, dir, "cat-file", "--batch-all-objects", "--batch"); strings.Contains(has, refusedWord) {
		t.Error("git has the value")
	}
}

// TestKeepRefusesWhatCameLater: a value that is written after the scan and before the
// object is made is found, too.
func TestKeepRefusesWhatCameLater(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	put(t, dir, "f", "nothing")
	put(t, dir, "other", "other")
	s, err := newSurvey(t.Context(), w, []string{"*"})
	must(t, err)
	put(t, dir, "f", "by now "+refusedWord)
	refusing(w)
	c := &capture{w: w, survey: s, batch: w.o.Objects.Begin()}
	must(t, c.keepObjects(t.Context(), func(*surveyed) bool { return true }))
	must(t, c.batch.Commit(t.Context()))
	must(t, s.dropUnreadable())
	if len(s.files) != 1 || s.files[0].entry.Path != "other" || !slices.Equal(s.unstable, []string{"f"}) {
		t.Errorf("kept %+v, left out %q", s.files, s.unstable)
	}
	for o, err := range w.o.Objects.All(t.Context()) {
		must(t, err)
		if data, err := w.o.Objects.Get(t.Context(), o.Digest, 1<<20); err != nil || strings.Contains(string(data), refusedWord) {
			t.Errorf("an object holds %q, %v", data, err)
		}
	}
}

// TestForgetScans: a content in which the detector found nothing is scanned again when the
// detector has come to know more.
func TestForgetScans(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	knows := false
	w.RefuseAll(func() Detector {
		if knows {
			return &finder{}
		}
		return Detectors{}
	})
	put(t, dir, "in/a", "before "+refusedWord)
	now, err := w.Now(t.Context(), []string{"in/a"})
	must(t, err)
	for _, step := range []struct {
		before func()
		want   int
	}{
		{func() {}, 0},
		{func() { knows = true }, 0},
		{w.ForgetScans, 1},
	} {
		step.before()
		refused, err := w.Refused(t.Context(), now.Entries, nil, nil)
		must(t, err)
		if len(refused) != step.want {
			t.Errorf("refused %q, want %d", refused, step.want)
		}
	}
	captured, err := w.Capture(t.Context(), CaptureOptions{Patterns: []string{"in/**"}})
	must(t, err)
	if !slices.Equal(captured.LeftOut, []string{"in/a"}) {
		t.Errorf("captured %+v", captured)
	}
}
