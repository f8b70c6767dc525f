package main

import (
	"context"
	"os"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/testscript"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/runner/process"
)

// scriptCutShort begins a rollback as the command does, up to where it is on
// record, and leaves the files to the script: it was killed there. MODE is how
// git is used.
func scriptCutShort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: cut-short MODE PRD CHECKPOINT")
	}
	ctx, prd := context.Background(), args[1]
	store, err := checkpoint.OpenStore(ts.MkAbs(".runner"), checkpoint.Options{})
	ts.Check(err)
	mode := workspace.GitMode(args[0])
	var git *workspace.Git
	if mode != workspace.GitOff {
		environ := append(os.Environ(), "GIT_CONFIG_GLOBAL="+ts.Getenv("GIT_CONFIG_GLOBAL"), "GIT_CONFIG_NOSYSTEM=1")
		git, err = workspace.OpenGit(ctx, process.NewCommander(environ), ts.MkAbs("."))
		ts.Check(err)
	}
	w, err := store.OpenWorkspace(ts.MkAbs("."), git, mode)
	ts.Check(err)
	x, err := store.Lock(ctx, prd, checkpoint.Actor{})
	ts.Check(err)
	to, err := x.State().FindCheckpoint(args[2])
	ts.Check(err)
	patterns, err := store.CapturePatterns(ctx, w, x.State())
	ts.Check(err)
	_, err = x.Capture(ctx, w, patterns)
	ts.Check(err)
	var at *checkpoint.Git
	if git != nil {
		at = &checkpoint.Git{}
		at.Branch, at.Commit, err = git.Head(ctx)
		ts.Check(err)
	}
	safety, _ := x.Checkpoint(checkpoint.TriggerPreRollback, "", at)
	x.Add(checkpoint.RollbackStarted{
		ID: uuid.NewString(), To: to.ID, ToSeq: to.Seq, ToStep: to.Step, Safety: safety, Scope: checkpoint.RollbackAll,
	})
	_, err = x.Drain(ctx)
	ts.Check(err)
	ts.Check(x.WriteDerived(ctx, true))
	ts.Check(x.Close())
	ts.Check(w.Close())
}
