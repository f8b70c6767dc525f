package runner_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/runner"
)

// slow is a file system that keeps only the beginning of a large object, and reports when
// more is written.
type slow struct {
	store.FS
	mu    sync.Mutex
	begun func() // called once with each object that is large
}

const large = 1 << 20

func (f *slow) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil || flag&os.O_CREATE == 0 || !strings.Contains(name, "objects") {
		return file, err
	}
	return &slowFile{File: file, fs: f}, nil
}

type slowFile struct {
	store.File
	fs   *slow
	size int
}

func (f *slowFile) Write(p []byte) (int, error) {
	before := f.size
	if f.size += len(p); f.size <= large {
		return f.File.Write(p)
	}
	if before <= large {
		f.fs.mu.Lock()
		defer f.fs.mu.Unlock()
		f.fs.begun()
	}
	return len(p), nil
}

// stopped is a bench with a file that is too large to be read during a test, and with
// signals that come when a copy of the file has begun.
type stopped struct {
	*bench
	signals chan string
	copies  int
}

func newStopped(t *testing.T, src string, names ...string) *stopped {
	t.Helper()
	s := &stopped{signals: make(chan string, 2)}
	disk := &slow{FS: store.OS(), begun: func() {
		s.copies++
		for _, name := range names {
			s.signals <- name
		}
	}}
	s.bench = newBenchOn(t, disk, src)
	var err error
	o := checkpoint.Options{FS: disk, RescueDir: t.TempDir(), Include: []string{"big"}}
	if s.store, err = checkpoint.OpenStore(filepath.Join(s.dir, ".runner"), o); err != nil {
		t.Fatal(err)
	}
	return s
}

// grow creates the large file, 60 GiB and sparse. The file appears only when it is
// complete.
func (s *stopped) grow() {
	s.write("big.tmp", "")
	if err := os.Truncate(s.path("big.tmp"), 60<<30); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(s.path("big.tmp"), s.path("big")); err != nil {
		s.t.Fatal(err)
	}
}

// interrupted runs a build, and checks that the signals stopped the build before its
// files were captured.
func (s *stopped) interrupted(signal string, with ...func(*runner.Options)) {
	s.t.Helper()
	defer func() {
		for len(s.signals) > 0 { // the second signal may have come too late
			<-s.signals
		}
	}()
	e := s.must(state.StatusPaused, append(with, func(o *runner.Options) { o.Interrupts = s.signals })...)
	st := s.state()
	if e.Signal != signal || st.Interrupted != signal || st.Pause == nil || st.Pause.Reason != state.PauseCheckpoint {
		s.t.Fatalf("the run was ended by %q, and is recorded as ended by %q, with %+v", e.Signal, st.Interrupted, st.Pause)
	}
	if last := st.Checkpoints[len(st.Checkpoints)-1]; last.Trigger != state.TriggerUserInterrupt {
		s.t.Errorf("the last checkpoint is %+v", last)
	}
	if len(s.warned) > 0 {
		s.t.Errorf("warnings %q", s.warned)
	}
	s.wantNothingHalfMade()
}

// wantNothingHalfMade checks that no part of a cancelled capture is among the objects.
func (s *stopped) wantNothingHalfMade() {
	s.t.Helper()
	err := filepath.WalkDir(s.path(".runner"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() > large/2 {
			s.t.Errorf("%s is left: %v, %v", path, info, err)
		}
		return nil
	})
	if err != nil {
		s.t.Error(err)
	}
}

// TestSignalGivesUpACapture sends one or two signals during a capture of a very large
// file. The capture and the run end, and the run is recorded as interrupted. The resumed
// run makes the capture and runs the remaining workstreams.
func TestSignalGivesUpACapture(t *testing.T) {
	t.Parallel()
	done := func(name string) func(state.Event) bool {
		return func(e state.Event) bool {
			switch e := e.(type) {
			case state.WorkstreamCompleted:
				return e.Workstream == name
			case state.WorkstreamFailed:
				return e.Workstream == name
			}
			return false
		}
	}
	for name, tt := range map[string]struct {
		after     string // the workstream that makes the large file
		ran, rest []string
		trigger   state.Trigger
	}{
		"at the start":   {"", nil, []string{"A", "B"}, state.TriggerStart},
		"between phases": {"A", []string{"A"}, []string{"B"}, state.TriggerPhaseTransition},
		"at the end":     {"B", []string{"A", "B"}, nil, state.TriggerPhaseTransition},
		"of a failure":   {"B", []string{"A", "B"}, []string{"B"}, state.TriggerPhaseTransition},
	} {
		for signals, names := range map[string][]string{"once": {"SIGTERM"}, "twice": {"SIGINT", "SIGINT"}} {
			t.Run(name+", "+signals, func(t *testing.T) {
				t.Parallel()
				s := newStopped(t, `
phase "one" {
  workstream "A" { script = "echo A >> ran" }
}
phase "two" {
  workstream "B" { script = "echo B >> ran; test ! -e broken" }
}
`, names...)
				var with []func(*runner.Options)
				if tt.after == "" {
					s.grow()
				} else {
					with = append(with, onEvent(done(tt.after), s.grow))
				}
				if name == "of a failure" {
					s.write("broken", "")
				}
				s.interrupted(names[0], with...)
				s.wantRan(tt.ran...)
				if tt.after == "" { // otherwise the files are compared first
					s.interrupted(names[0])
					s.wantRan()
					s.copies--
				}
				if s.copies != 1 {
					t.Errorf("a signal stopped the run, which began %d captures, want 1", s.copies)
				}
				s.write("small", "")
				if err := os.Rename(s.path("small"), s.path("big")); err != nil {
					t.Fatal(err)
				}
				if name == "of a failure" {
					s.remove("broken")
				}
				s.must(state.StatusComplete)
				s.wantRan(tt.rest...)
				again := func(r *state.CheckpointRef) bool {
					return r.Trigger == tt.trigger && r.Capture != nil && strings.Contains(string(r.Reason), "could not be captured at first")
				}
				if refs := s.state().Checkpoints; !slices.ContainsFunc(refs, again) {
					t.Errorf("the resumed run did not make the capture: %+v", refs)
				}
			})
		}
	}
}

// TestStopAtOnceBeginsNoCapture stops a run at once, with a second signal. The run ends
// without reading all files for a capture. Its partial work does not count as an edit in
// the resumed run.
func TestStopAtOnceBeginsNoCapture(t *testing.T) {
	t.Parallel()
	s := newStopped(t, `
phase "one" {
  workstream "A" {
    script    = "echo A >> ran; echo 1 > shared.txt"
    artifacts = ["shared.txt"]
  }
}
phase "two" {
  workstream "B" {
    script    = "echo B >> ran; echo 2 > shared.txt; echo > begun; test -e ok || exec sleep 300"
    artifacts = ["shared.txt"]
  }
}
`)
	stop := context.AfterFunc(fileExists(t, s.path("begun")), func() {
		s.grow()
		s.signals <- "SIGQUIT"
		s.signals <- "SIGQUIT"
	})
	defer stop()
	s.interrupted("SIGQUIT")
	s.wantRan("A", "B")
	if s.copies > 0 {
		t.Error("the large file was captured")
	}
	s.remove("big")
	s.write("ok", "")
	s.must(state.StatusComplete)
	s.wantRan("B")
	s.wantFile("shared.txt", "2")
}

// TestStopAtOnceGivesUpArtifacts: after the second signal, the run does not wait until
// large artifacts are stored. The workstream that made them runs again.
func TestStopAtOnceGivesUpArtifacts(t *testing.T) {
	t.Parallel()
	s := newStopped(t, `
phase "one" {
  workstream "A" {
    script    = "echo A >> ran; until test -e big; do :; done"
    artifacts = ["big"]
  }
}
`, "SIGINT", "SIGINT")
	started := onEvent(func(e state.Event) bool { return e.Kind() == state.KindWorkstreamStarted }, s.grow)
	s.interrupted("SIGINT", started)
	s.wantRan("A")
	if got := s.state().Workstream("A").Status; got != state.Interrupted {
		t.Errorf("A is %s, want interrupted", got)
	}
	s.write("small", "")
	if err := os.Rename(s.path("small"), s.path("big")); err != nil {
		t.Fatal(err)
	}
	s.must(state.StatusComplete)
	s.wantRan("A")
}
