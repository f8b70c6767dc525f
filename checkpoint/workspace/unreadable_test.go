//go:build unix

package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// growing is the beginning of a file that grows whenever it is read.
const growing = "a log: "

// grower is a detector that finds nothing, and appends to a file whenever it
// is read, up to a number of times.
type grower struct {
	file string
	left *atomic.Int64
	seen bytes.Buffer
}

func (g *grower) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), growing) && g.left.Add(-1) >= 0 {
		f, err := os.OpenFile(g.file, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return 0, err
		}
		_, err = f.WriteString("more\n")
		if err = errors.Join(err, f.Close()); err != nil {
			return 0, err
		}
	}
	return g.seen.Write(p)
}

func (g *grower) Found() bool { return false }

// grow makes a file grow the next few times that w reads it.
func grow(w *Workspace, file string, times int64) {
	left := new(atomic.Int64)
	left.Store(times)
	w.Refuse(func() Detector { return &grower{file: file, left: left} })
}

const always = 1 << 30

// TestCaptureUnstable captures a file that grows while it is read. If the file stops
// growing, it is captured. Otherwise it is skipped and named, and the capture fails if
// the file is needed.
func TestCaptureUnstable(t *testing.T) {
	t.Parallel()
	for _, mode := range []GitMode{GitRef, GitCommit, GitOff} {
		for _, test := range []struct {
			times  int64
			needed bool
			there  bool
		}{{unstableTries - 1, false, true}, {always, false, false}, {always, true, false}} {
			t.Run(fmt.Sprintf("%s %d %v", mode, test.times, test.needed), func(t *testing.T) {
				t.Parallel()
				w, dir := gitKeeper(t, "", mode)
				put(t, dir, "log", growing)
				put(t, dir, "other", "other")
				grow(w, filepath.Join(dir, "log"), test.times)
				o := CaptureOptions{Patterns: []string{"*"}, Message: "m", When: time.Unix(1e9, 0), Ref: "refs/runner/test/1"}
				o.Needed = func(path string) bool { return test.needed && path == "log" }
				c, err := w.Capture(t.Context(), o)
				if test.needed {
					if !errors.Is(err, ErrUnstable) || !strings.Contains(err.Error(), "the artifact log") {
						t.Errorf("captured %+v, %v", c, err)
					}
					return
				}
				must(t, err)
				var left []string
				if !test.there {
					left = []string{"log"}
				}
				l, err := open(t, w.o).Load(t.Context(), c.Listing)
				must(t, err)
				if !slices.Equal(c.Unstable, left) || !slices.Equal(l.Unstable, left) || c.Capture.Unstable != len(left) {
					t.Errorf("left out %q, the listing %q, the capture %d", c.Unstable, l.Unstable, c.Capture.Unstable)
				}
				if !slices.Contains(paths(l.Entries), "other") || slices.Contains(paths(l.Entries), "log") != test.there {
					t.Errorf("captured %q", paths(l.Entries))
				}
				if mode != GitOff {
					tree := runGit(t, dir, "ls-tree", "-r", "--name-only", c.Commit)
					if !strings.Contains(tree, "other\n") || strings.Contains(tree, "log\n") != test.there {
						t.Errorf("the commit has %q", tree)
					}
				}
				if missing, err := w.contents.Missing(t.Context(), l.Entries, true); err != nil || len(missing) > 0 {
					t.Errorf("missing: %v, %v", missing, err)
				}
			})
		}
	}
}

// TestHandOverUnstable: a file that begins to change when it is passed to git is not in
// the commit. The other files are.
func TestHandOverUnstable(t *testing.T) {
	t.Parallel()
	w, dir := gitKeeper(t, "", GitRef)
	put(t, dir, "log", growing)
	put(t, dir, "other", "other")
	s, err := newSurvey(t.Context(), w, nil)
	must(t, err)
	grow(w, filepath.Join(dir, "log"), always)
	c := &capture{w: w, o: CaptureOptions{Message: "m", When: time.Unix(1e9, 0)}, survey: s, batch: w.o.Objects.Begin()}
	commit, err := c.commit(t.Context(), "refs/runner/test/1")
	must(t, errors.Join(err, c.batch.Abandon()))
	if files := runGit(t, dir, "ls-tree", "-r", "--name-only", commit); files != "other\n" {
		t.Errorf("the commit has %q", files)
	}
	must(t, s.dropUnreadable())
	if !slices.Equal(s.unstable, []string{"log"}) || len(s.files) != 1 || s.files[0].entry.Blob == "" {
		t.Errorf("left out %q, and kept %+v", s.unstable, s.files)
	}
}

// TestVanished: a file that is removed during a capture counts as absent. A file that
// can't be stored because the object store is missing does not.
func TestVanished(t *testing.T) {
	t.Parallel()
	w, dir := keeper(t)
	put(t, dir, "a", "a")
	put(t, dir, "b", "b")
	s, err := newSurvey(t.Context(), w, []string{"*"})
	must(t, err)
	c := &capture{w: w, survey: s, batch: w.o.Objects.Begin()}
	must(t, os.Remove(filepath.Join(dir, "b")))
	must(t, c.keepObjects(t.Context(), func(*surveyed) bool { return true }))
	must(t, s.dropUnreadable())
	if len(s.files) != 1 || s.files[0].entry.Path != "a" || len(s.unstable) != 0 {
		t.Errorf("kept %+v, left out %q", s.files, s.unstable)
	}
	if err := c.handleKeepError(&s.files[0], os.ErrNotExist); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the error for an existing file was dropped: %v", err)
	}
	must(t, c.batch.Abandon())
}

// TestNowUnstable lists a large file while another goroutine keeps writing to it. On a
// busy machine the writer may not run while the file is read, so the test lists the file
// several times.
func TestNowUnstable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "log", "")
	put(t, dir, "other", "other")
	must(t, os.Truncate(filepath.Join(dir, "log"), 64<<20))
	w := open(t, Options{Dir: dir})
	f, err := os.OpenFile(filepath.Join(dir, "log"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	wrote, stop, stopped := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(wrote)
		var err error
		for err == nil {
			_, err = f.WriteString("x")
			select {
			case <-stop:
				stopped <- err
				return
			case wrote <- struct{}{}:
			default:
			}
		}
		stopped <- err
	}()
	l := &Listing{}
	for tries := 0; err == nil && len(l.Unstable) == 0 && tries < 20; tries++ {
		<-wrote
		l, err = w.Now(t.Context(), []string{"*"})
	}
	close(stop)
	must(t, errors.Join(err, <-stopped, f.Close()))
	if !slices.Equal(l.Unstable, []string{"log"}) || !slices.Equal(paths(l.Entries), []string{"other"}) {
		t.Errorf("listed %q, left out %q", paths(l.Entries), l.Unstable)
	}
	if l.Lacks("other") || !l.Lacks("log") {
		t.Error("want Lacks to be true only of the file that was left out")
	}
}
