package runner_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/process"
	"prdrunner/runner/record"
)

func (b *bench) wantFile(name, want string) {
	b.t.Helper()
	if got := strings.TrimSpace(readFile(b.t, b.path(name))); got != want {
		b.t.Errorf("%s holds %q, want %q", name, got, want)
	}
}

// inGit makes the workspace a git work tree, and returns the option with which builds use
// git.
func (b *bench) inGit() func(*runner.Options) {
	b.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("CI") == "true" {
			b.t.Fatal("there is no git")
		}
		b.t.Skip("there is no git")
	}
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	init := exec.Command("git", "init", "-q", b.dir)
	init.Env = env
	if out, err := init.CombinedOutput(); err != nil {
		b.t.Fatalf("git init: %v\n%s", err, out)
	}
	b.write(".gitignore", ".runner\nran\n")
	return func(o *runner.Options) {
		git, err := git.Open(b.t.Context(), process.NewCommander(env), b.dir)
		if err != nil {
			b.t.Fatal(err)
		}
		w, err := b.store.OpenWorkspace(b.dir, git, workspace.GitRef)
		if err != nil {
			b.t.Fatal(err)
		}
		b.t.Cleanup(func() { _ = w.Close() })
		o.Files = w
	}
}

// TestVerdictHoldsUntilAnEdit: in a work tree a capture shows whether any file changed
// that a gate may have judged, even if the gate declares no files.
func TestVerdictHoldsUntilAnEdit(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    script = "echo A >> ran"
    gate "check" { script = "echo check >> ran; test -e main.go" }
  }
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B >> ran; test -e mended"
  }
}
`)
	git := b.inGit()
	b.write("main.go", "package main")
	b.write("notes.txt", "notes")
	b.must(state.StatusFailed, git)
	b.wantRan("A", "check", "B")
	b.must(state.StatusFailed, git)
	b.wantRan("B")
	b.write("notes.txt", "edited")
	b.must(state.StatusFailed, git)
	b.wantRan("check", "B")
	if moved := b.plan.ChangedFiles; len(moved) != 1 || moved[0].Path != "notes.txt" || moved[0].Kind != workspace.Modified {
		t.Errorf("the plan has the changed files %+v, want notes.txt", moved)
	}
	// A checkpoint between runs captures an edit. The gate has not judged the edit.
	b.write("main.go", "package other")
	session, err := b.store.Lock(t.Context(), "PRD-001", state.Actor{})
	if err != nil {
		t.Fatal(err)
	}
	var o runner.Options
	git(&o)
	if _, err := session.Create(t.Context(), o.Files, "by hand"); err != nil {
		t.Fatal(err)
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	b.write("mended", "")
	b.must(state.StatusComplete, git)
	b.wantRan("check", "B")
}

// TestPartialWorkIsTakenBack: if a failed attempt changed an artifact of another
// workstream, the next attempt starts from the change, even in another run. Changes by a
// killed attempt are undone first.
func TestPartialWorkIsTakenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    artifacts = ["out/a.txt"]
    script    = "mkdir -p out; echo a > out/a.txt"
  }
  workstream "B" {
    depends_on = [workstream.A]
    artifacts  = ["out/*.txt"]
    script     = "cat out/a.txt >> seen; echo partial > out/a.txt; test -e mended; echo b > out/b.txt"
  }
}
`)
	b.must(state.StatusFailed)
	b.wantFile("out/a.txt", "partial")
	b.locked(func(x *checkpoint.Session) {
		d := x.State().Workstream("B").Digest
		x.Add(state.SessionResumed{}, state.WorkstreamStarted{Workstream: "B", Attempt: 2, Digest: d})
	})
	b.write("out/a.txt", "cut short")
	b.write("mended", "")
	b.must(state.StatusComplete)
	b.wantFile("seen", "a\npartial")
	if !slices.ContainsFunc(b.commits, func(c state.Commit) bool {
		return slices.ContainsFunc(c.Events, func(e state.Event) bool {
			r, ok := e.(state.ArtifactsRestored)
			return ok && r.Workstream == "A" && slices.Contains(r.Paths, "out/a.txt")
		})
	}) {
		t.Error("the journal does not say that out/a.txt was restored")
	}
}

// TestMissingArtifactsComeBack: missing artifacts are restored before anything starts,
// and the restore is recorded.
func TestMissingArtifactsComeBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    artifacts = ["out/**"]
    script    = "echo A >> ran; mkdir -p out/deep; echo a > out/a; echo b > out/deep/b; chmod 755 out/a; ln -s a out/link"
  }
}
phase "two" {
  workstream "B" { script = "echo B >> ran; test -e out/deep/b && test -x out/a && test -h out/link && test -e mended" }
}
`)
	b.must(state.StatusFailed)
	b.wantRan("A", "B")
	b.write("mended", "")
	if err := os.RemoveAll(filepath.Join(b.dir, "out")); err != nil {
		t.Fatal(err)
	}
	b.must(state.StatusComplete)
	b.wantRan("B")
	restored := 0
	for _, c := range b.commits {
		for _, e := range c.Events {
			if r, ok := e.(state.ArtifactsRestored); ok {
				restored += len(r.Paths)
				if r.Workstream != "A" || !slices.Contains(r.Paths, "out/link") {
					t.Errorf("restored %+v", r)
				}
			}
		}
	}
	if restored != 3 {
		t.Errorf("%d artifacts are recorded as restored, want 3", restored)
	}
}

// TestRollbackBeforeAOnceStep: a once step that was started must not run again because of
// a rollback.
func TestRollbackBeforeAOnceStep(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" { script = "echo A >> ran" }
}
phase "two" {
  workstream "B" {
    script = "echo B >> ran"
    effect = "once"
  }
  workstream "C" {
    depends_on = [workstream.B]
    script     = "echo C >> ran; false"
  }
}
`)
	b.must(state.StatusFailed)
	b.wantRan("A", "B", "C")
	w, err := b.store.OpenWorkspace(b.dir, nil, workspace.GitOff)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	session, err := b.store.Lock(t.Context(), "PRD-001", state.Actor{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rollback.Run(t.Context(), session, w, rollback.Options{To: "1"}); err != nil {
		t.Fatal(err)
	}
	if st := session.State(); st.Workstream("B").Status != state.Uncertain || st.Status != state.StatusPaused {
		t.Errorf("B is %s, the session %s", st.Workstream("B").Status, st.Status)
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	b.must(state.StatusPaused)
	b.wantRan()
}

// TestRestoredArtifactsChangeNothing: a restored artifact counts as unchanged. The
// workstreams that read the artifact do not run again, and no gate judges it again.
func TestRestoredArtifactsChangeNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    artifacts = ["out/a"]
    script    = "echo A >> ran; mkdir -p out; echo a > out/a"
    gate "check" { script = "echo check >> ran" }
  }
  workstream "B" {
    depends_on = [workstream.A]
    inputs     = ["out/a"]
    script     = "echo B >> ran"
    effect     = "once"
  }
}
phase "two" {
  workstream "C" { script = "echo C >> ran; false" }
}
`)
	b.must(state.StatusFailed)
	b.wantRan("A", "check", "B", "C")
	b.remove("out/a")
	b.must(state.StatusFailed)
	b.wantRan("C")
	b.wantFile("out/a", "a")
	b.write("out/a", "edited")
	b.must(state.StatusFailed, func(o *runner.Options) { o.OnConflict = plan.ConflictRestore })
	b.wantRan("C")
	b.wantFile("out/a", "a")
}

// TestResumeWithoutObjects: a session can be resumed without the objects of its captures.
func TestResumeWithoutObjects(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    artifacts = ["out"]
    script    = "echo A >> ran; echo a > out"
  }
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B >> ran; test -e mended"
  }
}
`)
	b.must(state.StatusFailed)
	b.wantRan("A", "B")
	if err := os.RemoveAll(b.path(".runner/objects")); err != nil {
		t.Fatal(err)
	}
	b.write("mended", "")
	b.must(state.StatusComplete)
	b.wantRan("B")
}

// TestArtifactBelowAFileIsMissing: if a file replaced the directory of an artifact, the
// artifact counts as missing, and the file in the way is not removed unasked.
func TestArtifactBelowAFileIsMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "A" {
    artifacts = ["out/a"]
    script    = "echo A >> ran; mkdir -p out; echo a > out/a"
  }
  workstream "B" {
    depends_on = [workstream.A]
    script     = "echo B >> ran; test -e mended"
  }
}
`)
	b.must(state.StatusFailed)
	b.wantRan("A", "B")
	if err := os.RemoveAll(b.path("out")); err != nil {
		t.Fatal(err)
	}
	b.write("out", "in the way")
	b.write("mended", "")
	if _, err := b.build(); err == nil || !strings.Contains(err.Error(), "out is in the way") {
		t.Fatalf("build: %v, want an error that names the file in the way of the artifact", err)
	}
	b.wantFile("out", "in the way")
	b.remove("out")
	b.must(state.StatusComplete)
	b.wantRan("B")
	b.wantFile("out/a", "a")
}

// TestEditAfterPartialWorkIsAConflict: a failed workstream overwrites two artifacts, and
// the user edits one of them. The edit is a conflict. Runner restores the artifact only
// if told to, with the content that the failed workstream left.
func TestEditAfterPartialWorkIsAConflict(t *testing.T) {
	t.Parallel()
	for choice, want := range map[plan.OnConflict]string{"": "fixed", plan.ConflictKeep: "fixed", plan.ConflictRestore: "partial"} {
		b := newBench(t, `
phase "one" {
  workstream "A" {
    artifacts = ["out/a.txt", "out/z.txt"]
    script    = "mkdir -p out; echo a > out/a.txt; echo z > out/z.txt"
  }
  workstream "B" {
    depends_on = [workstream.A]
    artifacts  = ["out/*.txt"]
    script     = "cat out/a.txt out/z.txt >> seen; test -e mended || { echo partial > out/a.txt; echo partial > out/z.txt; exit 1; }"
  }
}
`)
		b.must(state.StatusFailed)
		b.remove("seen")
		b.write("out/a.txt", "fixed\n")
		b.write("mended", "")
		if choice == "" {
			_, err := b.build()
			var c *runner.ConflictError
			if !errors.As(err, &c) || len(c.Conflicts) != 1 || c.Conflicts[0].Path != "out/a.txt" {
				t.Fatalf("%v, want a conflict over out/a.txt", err)
			}
			b.wantFile("out/a.txt", want)
			continue
		}
		b.must(state.StatusComplete, func(o *runner.Options) { o.OnConflict = choice })
		b.wantFile("seen", want+"\npartial")
		b.wantFile("out/a.txt", want)
	}
}

// killedOver returns a session whose runner was killed while B ran. The artifact
// out/a.txt of A, which matches a pattern of B, has changed.
func killedOver(t *testing.T, fsys store.FS) *bench {
	t.Helper()
	b := newBenchOn(t, fsys, `
phase "zero" {
  workstream "Z" {
    inputs = ["in"]
    script = "if test -e again; then echo meanwhile > out/a.txt; fi"
  }
}
phase "one" {
  workstream "A" {
    artifacts = ["out/a.txt"]
    script    = "mkdir -p out; echo a > out/a.txt"
  }
  workstream "B" {
    depends_on = [workstream.A]
    artifacts  = ["out/*.txt"]
    script     = "cat out/a.txt >> seen; test -e mended && { test ! -e flaky || { rm flaky; false; }; }"
    retry { attempts = 2 }
  }
}
`)
	b.must(state.StatusFailed)
	b.remove("seen")
	b.locked(func(x *checkpoint.Session) {
		x.Add(state.SessionResumed{}, state.WorkstreamStarted{Workstream: "B", Attempt: 3})
	})
	b.write("out/a.txt", "perhaps an edit")
	b.write("mended", "")
	b.warned = nil
	return b
}

// TestPartialWorkOfAKilledRunIsKept: after a kill, Runner can't tell partial work from an
// edit. So it makes a checkpoint of the files before it undoes the change. The checkpoint
// holds the files even if the checkpoint's file can't be written and is skipped.
func TestPartialWorkOfAKilledRunIsKept(t *testing.T) {
	t.Parallel()
	for _, broken := range []bool{false, true} {
		fsys := &noCheckpoints{FS: store.OS()}
		b := killedOver(t, fsys)
		fsys.broken.Store(broken)
		b.must(state.StatusComplete, func(o *runner.Options) { o.OnCheckpointError = record.Skip })
		fsys.broken.Store(false)
		b.wantFile("seen", "a")
		if len(b.warned) == 0 || !strings.Contains(b.warned[0], "out/a.txt") {
			t.Errorf("warned %q, want out/a.txt named", b.warned)
		}
		if left := slices.ContainsFunc(b.warned, func(w string) bool { return strings.Contains(w, "stays on record without its file") }); left != broken {
			t.Errorf("the checkpoint's file could not be written: %t; warned %q", broken, b.warned)
		}
		if _, err := prune.Collect(t.Context(), b.store, nil); err != nil {
			t.Fatal(err)
		}
		w, err := b.store.OpenWorkspace(b.dir, nil, workspace.GitOff)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = w.Close() }()
		refs := b.state().Checkpoints
		i := slices.IndexFunc(refs, func(ref *state.CheckpointRef) bool { return ref.Trigger == state.TriggerConflictStart })
		if i < 0 {
			t.Fatalf("no checkpoint holds the partial work: %v", refs)
		}
		l, err := w.Load(t.Context(), refs[i].Capture.Listing)
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(l.Entries, func(e workspace.Entry) bool { return e.Path == "out/a.txt" }); i < 0 || l.Entries[i].Size != int64(len("perhaps an edit")) {
			t.Errorf("captured %+v, want the edit of out/a.txt", l.Entries)
		} else if err := w.Secure(t.Context(), l.Entries[i:i+1], true); err != nil {
			t.Error(err)
		}
	}
}

// TestPartialWorkThatIsNotKeptStays: Runner undoes no partial work that no checkpoint
// holds. That concerns files that can't be captured, even if checkpoints that fail are
// skipped, and changes after the checkpoint. The session can be resumed once the files
// can be captured.
func TestPartialWorkThatIsNotKeptStays(t *testing.T) {
	t.Parallel()
	skip := func(o *runner.Options) { o.OnCheckpointError = record.Skip }
	t.Run("no capture", func(t *testing.T) {
		t.Parallel()
		fsys := &noObjects{FS: store.OS()}
		b := killedOver(t, fsys)
		fsys.broken.Store(true)
		if _, err := b.build(skip); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "out/a.txt") {
			t.Errorf("no object can be written, and the error is %v", err)
		}
		b.wantFile("out/a.txt", "perhaps an edit")
		if st := b.state(); st.RunningAt == nil {
			t.Errorf("the end %s was recorded, although nothing ran", st.Status)
		}
		fsys.broken.Store(false)
		b.must(state.StatusComplete, skip)
		b.wantFile("seen", "a")
	})
	t.Run("no capture at first", func(t *testing.T) {
		t.Parallel()
		fsys := &noObjects{FS: store.OS(), once: true}
		b := killedOver(t, fsys)
		fsys.broken.Store(true)
		b.must(state.StatusComplete)
		b.wantFile("seen", "a")
	})
	t.Run("meanwhile", func(t *testing.T) {
		t.Parallel()
		b := killedOver(t, store.OS())
		b.write("again", "")
		b.write("flaky", "")
		b.write("in", "other")
		b.must(state.StatusComplete)
		b.wantFile("seen", "meanwhile\nmeanwhile")
	})
	for only, left := range map[string]string{"Z": "perhaps an edit", "A": "a"} { // A makes the file again
		t.Run("only "+only, func(t *testing.T) {
			t.Parallel()
			b := killedOver(t, store.OS())
			b.must(state.StatusPaused, func(o *runner.Options) { o.Select.Only = []string{only} })
			b.wantFile("out/a.txt", left)
			if !slices.ContainsFunc(b.state().Checkpoints, func(ref *state.CheckpointRef) bool { return ref.Trigger == state.TriggerConflictStart }) {
				t.Errorf("no checkpoint holds the partial work")
			}
		})
	}
}

// TestEditOfPartialWorkIsNotMadeAgain edits an artifact just before its workstream makes
// it again. Runner does not overwrite the edit, although the file matches the patterns of
// a workstream that was running when the runner was killed.
func TestEditOfPartialWorkIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "Z" {
    inputs    = ["in"]
    artifacts = ["mid"]
    script    = "if test -e again; then echo meanwhile > out/a.txt; fi; cat in > mid"
  }
  workstream "A" {
    depends_on = [workstream.Z]
    inputs     = ["mid"]
    artifacts  = ["out/a.txt"]
    script     = "mkdir -p out; echo a > out/a.txt"
  }
  workstream "B" {
    depends_on = [workstream.A]
    artifacts  = ["out/*.txt"]
    script     = "test -e mended"
  }
}
`)
	b.write("in", "")
	b.must(state.StatusFailed)
	b.locked(func(x *checkpoint.Session) {
		x.Add(state.SessionResumed{}, state.WorkstreamStarted{Workstream: "B", Attempt: 2})
	})
	b.write("out/a.txt", "perhaps an edit")
	b.write("in", "other")
	b.write("again", "")
	b.write("mended", "")
	b.must(state.StatusFailed)
	b.wantFile("out/a.txt", "meanwhile")
}

// TestSharedArtifactIsMadeAgain: three workstreams write the same file one after the
// other. If the first makes the file again, the next ones do not take that for an edit,
// whether the last run failed or was killed.
func TestSharedArtifactIsMadeAgain(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		b := newBench(t, `
phase "one" {
  workstream "A" {
    inputs    = ["in"]
    artifacts = ["report"]
    script    = "cat in > report"
  }
  workstream "B" {
    depends_on = [workstream.A]
    artifacts  = ["report"]
    script     = "echo b >> report"
  }
  workstream "C" {
    depends_on = [workstream.B]
    artifacts  = ["report"]
    script     = "echo c >> report; test -e mended"
  }
}
`)
		b.write("in", "first\n")
		b.must(state.StatusFailed)
		if killed {
			b.locked(func(x *checkpoint.Session) {
				x.Add(state.SessionResumed{}, state.WorkstreamStarted{Workstream: "C", Attempt: 2})
			})
		}
		b.write("in", "second\n")
		b.write("mended", "")
		b.must(state.StatusComplete)
		b.wantFile("report", "second\nb\nc")
	}
}

// TestSensitivePartialWork: no checkpoint holds sensitive files. So Runner refuses to run
// a workstream that would overwrite a changed one, but other workstreams run.
func TestSensitivePartialWork(t *testing.T) {
	t.Parallel()
	for again, want := range map[bool]string{false: "", true: "key/.env"} {
		b := newBench(t, `
phase "one" {
  workstream "A" {
    artifacts = ["key/.env"]
    script    = "mkdir -p key; echo a > key/.env"
  }
  workstream "B" {
    depends_on = [workstream.A]
    artifacts  = ["key/.e*"]
    script     = "test -e mended"
  }
}
`)
		b.must(state.StatusFailed)
		b.locked(func(x *checkpoint.Session) {
			x.Add(state.SessionResumed{}, state.WorkstreamStarted{Workstream: "B", Attempt: 2})
		})
		b.write("key/.env", "perhaps an edit")
		b.write("mended", "")
		_, err := b.build(func(o *runner.Options) {
			if again {
				o.Select.Invalidate = []string{"A"}
			}
		})
		var unkept *runner.UnkeptError
		if errors.As(err, &unkept) != again || again && unkept.Paths[0] != want {
			t.Errorf("the artifact would be made again: %t; the error is %v", again, err)
		}
		b.wantFile("key/.env", "perhaps an edit")
	}
}

// TestPartialWorkIsAlwaysKept edits an artifact during a run that ends before it comes to
// the workstream that had failed. A checkpoint holds the edit before the next run undoes
// it.
func TestPartialWorkIsAlwaysKept(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "zero" {
  workstream "Z" {
    inputs = ["in"]
    script = "if test -e again; then rm again; echo meanwhile > out/a.txt; exit 1; fi"
  }
}
phase "one" {
  workstream "A" {
    artifacts = ["out/a.txt"]
    script    = "mkdir -p out; echo a > out/a.txt"
  }
  workstream "B" {
    depends_on = [workstream.A]
    artifacts  = ["out/*.txt"]
    script     = "cat out/a.txt >> seen; test -e mended"
  }
}
`)
	b.must(state.StatusFailed)
	b.write("in", "other")
	b.write("again", "")
	b.must(state.StatusFailed)
	b.wantFile("out/a.txt", "meanwhile")
	b.write("mended", "")
	b.must(state.StatusComplete)
	b.wantFile("seen", "a\na")
	if !slices.ContainsFunc(b.state().Checkpoints, func(ref *state.CheckpointRef) bool { return ref.Trigger == state.TriggerConflictStart }) {
		t.Error("no checkpoint was made before the edit was undone")
	}
}

// TestRollbackToKeptPartialWork: a rollback restores a file with partial work of a killed
// run. From then on, a difference counts as an edit, and not as partial work.
func TestRollbackToKeptPartialWork(t *testing.T) {
	t.Parallel()
	b := killedOver(t, store.OS())
	b.locked(func(x *checkpoint.Session) {
		x.Add(state.SessionInterrupted{Signal: "SIGINT", Uncaptured: "gone"})
	})
	b.must(state.StatusComplete)
	b.wantFile("seen", "a")
	refs := b.state().Checkpoints
	i := slices.IndexFunc(refs, func(ref *state.CheckpointRef) bool { return ref.Trigger == state.TriggerConflictStart })
	if i < 0 {
		t.Fatal("no checkpoint was made before partial work was undone")
	}
	w, err := b.store.OpenWorkspace(b.dir, nil, workspace.GitOff)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	b.locked(func(x *checkpoint.Session) {
		if _, err := rollback.Run(t.Context(), x, w, rollback.Options{To: refs[i].ID}); err != nil {
			t.Fatal(err)
		}
	})
	b.wantFile("out/a.txt", "perhaps an edit")
	var conflict *runner.ConflictError
	if _, err := b.build(); !errors.As(err, &conflict) {
		t.Errorf("the rollback restored the file, and the build ended with %v, want a conflict", err)
	}
	b.wantFile("out/a.txt", "perhaps an edit")
}

// TestEditDuringARunIsNotOverwritten edits an artifact during a run. No checkpoint holds
// the edit, so the run does not overwrite it, even with the choice to restore edits.
func TestEditDuringARunIsNotOverwritten(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "Z" {
    inputs = ["in"]
    script = "if test -e again; then echo meanwhile > out/a; fi"
  }
}
phase "two" {
  workstream "A" {
    artifacts = ["out/a"]
    script    = "mkdir -p out; echo a > out/a"
  }
}
phase "three" {
  workstream "C" { script = "test -e mended" }
}
`)
	b.must(state.StatusFailed)
	b.write("again", "")
	b.write("in", "other")
	restore := func(o *runner.Options) { o.OnConflict = plan.ConflictRestore }
	b.must(state.StatusPaused, restore)
	b.wantFile("out/a", "meanwhile")
	if st := b.state(); st.Workstream("A").Status != state.Completed || !strings.Contains(string(st.Pause.Message), "artifacts of A were edited") {
		t.Errorf("A is %+v, the pause %+v; want A completed, and named in the pause", st.Workstream("A"), st.Pause)
	}
	b.remove("again")
	b.write("mended", "")
	b.must(state.StatusComplete, restore)
	b.wantFile("out/a", "a")
	var triggers []state.Trigger
	for _, ref := range b.state().Checkpoints {
		triggers = append(triggers, ref.Trigger)
	}
	if !slices.Contains(triggers, state.TriggerConflictStart) {
		t.Errorf("checkpoints %v, want one of the edit", triggers)
	}
}

// TestObstacleOfAnArtifactUndoesNoWork puts a file in the place of an artifact's
// directory. The workstream stays done, even a once step, and the run pauses for the
// user.
func TestObstacleOfAnArtifactUndoesNoWork(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
phase "one" {
  workstream "Z" {
    inputs = ["in"]
    script = "if test -e again; then rm -r out; echo obstacle > out; fi"
  }
}
phase "two" {
  workstream "A" {
    effect    = "once"
    artifacts = ["out/a"]
    script    = "echo A >> ran; mkdir -p out; echo a > out/a"
  }
}
phase "three" {
  workstream "C" { script = "test -e mended" }
}
`)
	b.must(state.StatusFailed)
	b.wantRan("A")
	b.write("again", "")
	b.write("in", "other")
	b.must(state.StatusPaused)
	if st := b.state(); st.Workstream("A").Status != state.Completed || !strings.Contains(string(st.Pause.Message), "the artifacts of A are not put back") {
		t.Errorf("A is %+v, the pause %+v; want A completed, and named in the pause", st.Workstream("A"), st.Pause)
	}
	b.remove("again")
	b.remove("out")
	b.write("mended", "")
	b.must(state.StatusComplete)
	b.wantFile("out/a", "a")
	b.wantRan()
}
