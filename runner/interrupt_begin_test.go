package runner_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// signalling is a file system that sends a signal when the first part of a large object
// has been written or read, if the test asks for it.
type signalling struct {
	store.FS
	moved atomic.Pointer[func()]
}

func (f *signalling) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil || !strings.Contains(name, "objects") {
		return file, err
	}
	return &signallingFile{File: file, fs: f}, nil
}

type signallingFile struct {
	store.File
	fs   *signalling
	size int
}

func (f *signallingFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.count(n)
	return n, err
}

func (f *signallingFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.count(n)
	return n, err
}

func (f *signallingFile) count(n int) {
	if f.size += n; f.size < large {
		return
	}
	if tell := f.fs.moved.Swap(nil); tell != nil {
		(*tell)()
	}
}

// TestSignalGivesUpWhatComesFirst sends a signal while Runner stores or restores a large
// file before it resumes a session. The run ends, the session and the file stay as they
// were, and no temporary file is left. The next build does the whole work.
func TestSignalGivesUpWhatComesFirst(t *testing.T) {
	t.Parallel()
	edit := strings.Repeat("edited\n", 4<<20)
	made := strings.Repeat("\x00", 32<<20)
	for name, tt := range map[string]struct {
		prepare func(b *bench)
		choice  plan.OnConflict
		found   string // the content of the artifact when the signal comes; "": it is missing
	}{
		"keeping an edit": {func(b *bench) {
			b.must(state.StatusFailed)
			b.write("made", edit)
		}, plan.ConflictRestore, edit},
		"keeping partial work": {func(b *bench) {
			b.write("partly", "")
			signals := make(chan string, 2)
			stop := context.AfterFunc(fileExists(b.t, b.path("begun")), func() {
				signals <- "SIGQUIT"
				signals <- "SIGQUIT"
			})
			defer stop()
			b.must(state.StatusPaused, func(o *runner.Options) { o.Interrupts = signals })
			b.remove("partly")
		}, "", strings.ReplaceAll(made, "\x00", "\n")},
		"putting back what is gone": {func(b *bench) {
			b.must(state.StatusFailed)
			b.remove("made")
		}, "", ""},
	} {
		for _, names := range [][]string{{"SIGTERM"}, {"SIGINT", "SIGINT"}} {
			t.Run(name+", "+strings.Join(names, " "), func(t *testing.T) {
				t.Parallel()
				disk := &signalling{FS: store.OS()}
				b := newBenchOn(t, disk, `
phase "one" {
  workstream "A" {
    script    = "echo A >> ran; head -c 33554432 /dev/zero > made"
    artifacts = ["made"]
  }
}
phase "two" {
  workstream "B" {
    script    = "echo B >> ran; test ! -e partly || { tr '\\000' '\\n' < made > more; mv more made; echo > begun; exec sleep 300; }; test -e ok"
    artifacts = ["made"]
  }
}
`)
				tt.prepare(b)
				b.wantRan("A", "B")
				was, signals := b.state(), make(chan string)
				tell := func() {
					for _, name := range names {
						signals <- name // returns when the runner has received it
					}
				}
				disk.moved.Store(&tell)
				choose := func(o *runner.Options) { o.OnConflict = tt.choice }
				e, err := b.build(choose, func(o *runner.Options) { o.Interrupts = signals })
				var interrupted *runner.InterruptedError
				if !errors.As(err, &interrupted) || interrupted.Signal != names[0] {
					t.Fatalf("the build ended with %+v, %v, want an interruption", e, err)
				}
				if disk.moved.Load() != nil {
					t.Error("no large object was read or written")
				}
				b.wantRan()
				if now := b.state(); now.Status != was.Status || len(now.Checkpoints) != len(was.Checkpoints) {
					t.Errorf("the session is %s, and was %s; there were %d checkpoints, and are %d", now.Status, was.Status, len(was.Checkpoints), len(now.Checkpoints))
				}
				b.holdsMade(tt.found)
				b.write("ok", "")
				b.must(state.StatusComplete, choose)
				b.wantRan("B")
				b.holdsMade(made)
			})
		}
	}
}

// holdsMade checks the content of the artifact, and that the workspace has no temporary
// file of Runner.
func (b *bench) holdsMade(want string) {
	b.t.Helper()
	data, err := os.ReadFile(b.path("made"))
	if string(data) != want || err != nil && (want != "" || !errors.Is(err, fs.ErrNotExist)) {
		b.t.Fatalf("made holds %.20q… of %d bytes (%v), want %.20q… of %d", data, len(data), err, want, len(want))
	}
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".runner-") {
			b.t.Errorf("%s is left over", entry.Name())
		}
	}
}
