package advice_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/cmd/runner/advice"
)

// TestOf: the hint that a command gave comes before what is known of the error, and its
// commands are those of this workspace.
func TestOf(t *testing.T) {
	t.Parallel()
	elsewhere := advice.CommandLine{DirFlag: "my dir"}
	untrusted := &checkpoint.UntrustedError{PRD: "PRD-001"}
	for _, test := range []struct {
		cmdline advice.CommandLine
		err     error
		want    string
	}{
		{advice.CommandLine{}, errors.New("no"), ""},
		{advice.CommandLine{}, advice.With(errors.New("no"), "`runner plan`"), "`runner plan`"},
		{elsewhere, fmt.Errorf("x: %w", advice.With(errors.New("no"), "`runner plan`")), "`runner -C 'my dir' plan`"},
		{elsewhere, advice.With(errors.New("no"), "`runner -C 'my dir' plan` or `runner status`"), "`runner -C 'my dir' plan` or `runner status`"},
		{elsewhere, untrusted, "`runner -C 'my dir' build PRD-001 --fresh` sets it aside and starts over"},
		{elsewhere, advice.With(untrusted, "do that"), "do that"},
		{elsewhere, &git.StateError{Detail: "a merge is under way", Remedy: "finish the merge"}, "finish the merge"},
		{elsewhere, checkpoint.ErrLockLost, "`runner status` shows the sessions that are on record and what is running; the next build continues from there, or starts over if the state was removed"},
	} {
		if got := advice.Of(test.cmdline, "", test.err); got != test.want {
			t.Errorf("%v: %q, want %q", test.err, got, test.want)
		}
	}
	if err := advice.With(nil, "a hint"); err != nil {
		t.Errorf("a hint alone makes the error %v", err)
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for cmdline, want := range map[advice.CommandLine]string{
		{}:                                     "runner plan",
		{DirFlag: "."}:                         "runner plan",
		{DirFlag: "a b"}:                       "runner -C 'a b' plan",
		{ConfigFlag: "r.yaml"}:                 "runner --config r.yaml plan",
		{DirFlag: "..", ConfigFlag: "/r.yaml"}: "runner -C .. --config /r.yaml plan",
	} {
		if got := cmdline.Command("plan"); got != want {
			t.Errorf("%+v: %q, want %q", cmdline, got, want)
		}
	}
	in := advice.CommandLine{Workdir: "/ws"}
	for path, want := range map[string]string{"/ws/a/b": "a/b", "/ws": ".", "/": "/", "/other": "/other", "/ws/..a": "..a"} {
		if got := in.Display(path); got != want {
			t.Errorf("%s is displayed as %s, want %s", path, got, want)
		}
	}
}

// TestLocked: the hint is about the process that holds the lock.
func TestLocked(t *testing.T) {
	t.Parallel()
	stopped := &checkpoint.LockedError{PRD: "PRD-001", Stopped: true, Holder: disk.Holder{Actor: state.Actor{PID: 7}}}
	for _, test := range []struct {
		prd  string
		err  error
		want string
	}{
		{"PRD-001", errors.New("no"), ""},
		{"PRD-001", &checkpoint.LockedError{}, "`runner status` shows what is running in it"},
		{"PRD-001", stopped, "`kill -CONT 7` lets it continue"},
		{"PRD-001", advice.LockedBy("PRD-001", disk.Holder{}), "`runner status PRD-001` shows its state"},
		{"", &checkpoint.LockedError{PRD: "PRD-001"}, "`runner logs PRD-001 -f` its output"},
	} {
		got := advice.Of(advice.CommandLine{}, "", advice.Locked(test.prd, test.err))
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%v: %q, want %q", test.err, got, test.want)
		}
	}
}

// TestRollback holds for each refusal of a rollback what to do, and whether it is a
// mistake in the command line.
func TestRollback(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err   error
		want  string
		usage bool
	}{
		{errors.New("no"), "", false},
		{&workspace.MissingError{}, "--force leaves these out", false},
		{&workspace.ObstructedError{}, "move away what is in the way", false},
		{&rollback.BranchError{Of: "main"}, "`git checkout main` first", true},
		{&rollback.BranchError{Commit: "abc"}, "`git checkout --detach abc` first", true},
		{&rollback.HeadMovedError{To: "C1", Scope: state.RollbackAll, Branch: "main", On: "x"}, "`git checkout main`; then `runner checkpoint rollback PRD-001 C1` finishes it", false},
		{&rollback.HeadMovedError{To: "C1", Scope: state.RollbackFiles, Branch: "main", On: "main", Commit: "abc"},
			"`git reset --soft abc` moves the branch back and leaves the files; then `runner checkpoint rollback PRD-001 C1 --files-only`", false},
		{&rollback.CommitAbsentError{}, "--force restores the files and leaves the branch", true},
		{&rollback.EarlierGoneError{To: "C2", Nearest: "C1", Err: state.ErrNoCheckpoint}, "`runner checkpoint rollback PRD-001 C1` goes to the nearest", false},
		{&rollback.EarlierGoneError{To: "C2", Err: state.ErrNoCheckpoint}, "`runner checkpoint rollback PRD-001 C2 --state-only`", false},
		{&rollback.PushedError{To: "C1"}, "`runner checkpoint rollback PRD-001 C1 --force` discards them", true},
		{rollback.ErrForward, "shows its pre_rollback checkpoint", true},
		{&checkpoint.UnfinishedRollbackError{To: "C1", Scope: state.RollbackState}, "`runner checkpoint rollback PRD-001 C1 --state-only` finishes it", false},
		{&state.DamagedError{}, "`runner checkpoint validate PRD-001` names the valid ones", false},
		{&checkpoint.LockedError{PRD: "PRD-001"}, "`runner status PRD-001` shows its state", false},
		{&state.UnknownCheckpointError{}, "`runner checkpoint list PRD-001` lists them", true},
		{&state.AmbiguousError{}, "`runner checkpoint list PRD-001` lists them", true},
	} {
		err := advice.Rollback("PRD-001", fmt.Errorf("roll back: %w", test.err))
		got := advice.Of(advice.CommandLine{}, "", err)
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%T: %q, want %q", test.err, got, test.want)
		}
		if advice.IsA[*advice.UsageError](err) != test.usage || !errors.Is(err, test.err) {
			t.Errorf("%T: it became %v", test.err, err)
		}
	}
}

// TestArchived: a checkpoint that only an archived session has is named with the commands
// that bring its session back.
func TestArchived(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	store := f.Open()
	x := checkpointtest.LockPRD(t, store, "PRD-009")
	checkpointtest.Must(t, x.Start(checkpointtest.Started("old", checkpointtest.Cashier())))
	earlier := checkpointtest.Mark(t, x, state.TriggerManual)
	_, err := x.Archive(t.Context(), checkpointtest.By, "")
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.Start(checkpointtest.Started("new", checkpointtest.Cashier())))
	current := checkpointtest.Mark(t, x, state.TriggerManual)
	checkpointtest.Must(t, x.Close())
	for _, test := range []struct {
		err  error
		want string
	}{
		{errors.New("no"), ""},
		{&state.UnknownCheckpointError{Ref: "nowhere"}, ""},
		{&state.UnknownCheckpointError{Ref: current}, ""},
		{&state.UnknownCheckpointError{Ref: earlier}, "--session old"},
	} {
		got := advice.Archived(advice.CommandLine{}, store, "PRD-009", test.err)
		if hint := advice.Of(advice.CommandLine{}, "", got); (test.want == "") != (hint == "") || !strings.Contains(hint, test.want) || !errors.Is(got, test.err) {
			t.Errorf("%v became %v, hint %q, want %q", test.err, got, hint, test.want)
		}
	}
}

// TestResumeAndAbandon: what can't be done with a session is not suggested.
func TestResumeAndAbandon(t *testing.T) {
	t.Parallel()
	session := func(status state.Status, cutShort *state.RollbackStarted) *state.State {
		return &state.State{PRD: "PRD-001", Status: status, Rollback: cutShort}
	}
	for _, test := range []struct {
		st              *state.State
		resume, abandon bool
	}{
		{nil, false, false},
		{session(state.StatusPaused, nil), true, true},
		{session(state.StatusComplete, nil), false, false},
		{session(state.StatusComplete, &state.RollbackStarted{}), true, false},
	} {
		resume, abandon := advice.Resume(test.st, " --var a=b", "resume"), advice.Abandon(test.st, "give up")
		if len(resume) != 0 != test.resume || len(abandon) != 0 != test.abandon {
			t.Errorf("%+v: %v, %v", test.st, resume, abandon)
		}
		if test.resume && resume[0].Command != "build PRD-001 --resume --var a=b" {
			t.Errorf("%v", resume)
		}
	}
}

// TestStartCommand: a pipeline that Runner finds by itself is not named, nor one that no
// other command can read.
func TestStartCommand(t *testing.T) {
	t.Parallel()
	for pipeline, want := range map[string]string{
		"":                      "build PRD-001",
		"PRD-001.hcl":           "build PRD-001",
		"pipelines/PRD-001.hcl": "build PRD-001",
		"my ci.hcl":             "build PRD-001 -f 'my ci.hcl'",
		"/dev/fd/63":            "build PRD-001",
		"/proc/self/fd/3":       "build PRD-001",
		"/dev/null":             "build PRD-001 -f /dev/null",
	} {
		if got := advice.StartCommand("PRD-001", pipeline); got != want {
			t.Errorf("%q: %s, want %s", pipeline, got, want)
		}
	}
}

func TestImportAgain(t *testing.T) {
	t.Parallel()
	for pending, want := range map[*disk.PendingImport]string{
		{}:                                    "`runner checkpoint import FILE`",
		{Archive: "-"}:                        "`runner checkpoint import FILE`",
		{Archive: "a b.tar", Overwrite: true}: "`runner checkpoint import 'a b.tar' --overwrite`",
	} {
		if got := advice.ImportAgain(pending); got != want {
			t.Errorf("%+v: %s, want %s", pending, got, want)
		}
	}
}

// TestUntrustedAndDamaged: only what there is can be adopted, or be gone back to.
func TestUntrustedAndDamaged(t *testing.T) {
	t.Parallel()
	for current, want := range map[bool]bool{true: true, false: false} {
		hint := advice.Untrusted(&checkpoint.UntrustedError{PRD: "PRD-001", Current: current})
		if strings.Contains(hint, "--adopt") != want || !strings.Contains(hint, "--fresh") {
			t.Errorf("with a current session %v: %s", current, hint)
		}
	}
	st := &state.State{PRD: "PRD-001", Status: state.StatusPaused}
	for last, want := range map[*state.CheckpointRef]int{nil: 3, {ID: "C1"}: 4} {
		if got := advice.Damaged(st, "C2", last); len(got) != want {
			t.Errorf("with %v: %v", last, got)
		}
	}
}
