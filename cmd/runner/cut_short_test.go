package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/testscript"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/runner/process"
)

// scriptCutShort is the script command cut-short. It leaves an unfinished rollback in the
// directory of the script. MODE is the value of checkpoint.git.mode.
func scriptCutShort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: cut-short MODE PRD CHECKPOINT")
	}
	ctx, dir := context.Background(), ts.MkAbs(".")
	mode := workspace.GitMode(args[0])
	var repo *git.Repository
	if mode != workspace.GitOff {
		environ := append(os.Environ(), "GIT_CONFIG_GLOBAL="+ts.Getenv("GIT_CONFIG_GLOBAL"), "GIT_CONFIG_NOSYSTEM=1")
		var err error
		repo, err = git.Open(ctx, process.NewCommander(environ), dir)
		ts.Check(err)
	}
	cutRollbackShort(ctx, ts.Check, dir, repo, mode, args[1], args[2])
}

// cutRollbackShort begins a rollback as the command does, until the start of the rollback
// is on record. It does not change the files of the workspace, as if Runner was killed at
// that point.
func cutRollbackShort(ctx context.Context, check func(error), dir string, git *git.Repository, mode workspace.GitMode, prd, reference string) {
	store, err := checkpoint.OpenStore(filepath.Join(dir, ".runner"), checkpoint.Options{})
	check(err)
	w, err := store.OpenWorkspace(dir, git, mode)
	check(err)
	x, err := store.Lock(ctx, prd, state.Actor{})
	check(err)
	to, err := x.State().FindCheckpoint(reference)
	check(err)
	patterns, err := store.CapturePatterns(ctx, w, x.State())
	check(err)
	_, err = x.Capture(ctx, w, patterns)
	check(err)
	var at *state.Git
	if git != nil {
		branch, commit, err := git.Head(ctx)
		check(err)
		at = &state.Git{Branch: state.Text(branch), Commit: commit}
	}
	safety, _ := x.Checkpoint(state.TriggerPreRollback, "", at)
	x.Add(state.RollbackStarted{
		ID: uuid.NewString(), To: to.ID, ToSeq: to.Seq, ToStep: to.Step, Safety: safety, Scope: state.RollbackAll,
	})
	_, err = x.Drain(ctx)
	check(err)
	check(x.WriteDerived(ctx))
	check(x.Close())
	check(w.Close())
}
