package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// crowd is a workload of checkpoints: a number of sessions with a number of checkpoints
// each. The checkpoints are spread over sessions because a checkpoint file names all
// earlier checkpoints that were kept, so that all in one session would fill the disk.
type crowd struct {
	sessions, each int
}

func (c crowd) total() int { return c.sessions * c.each }

// lay makes the sessions below a directory, with Runner's own code and a policy that keeps
// all checkpoints. The policy of the command that prunes keeps the newest of each session.
func (c crowd) lay(dir string) error {
	policy := checkpoint.DefaultPolicy()
	delete(policy.Retention.Counts, string(state.TriggerWorkstreamComplete))
	s, err := checkpoint.OpenStore(filepath.Join(dir, ".runner"), checkpoint.Options{FS: unsynced{store.OS()}, Policy: policy})
	if err != nil {
		return err
	}
	for i := range c.sessions {
		if err := c.layOne(s, fmt.Sprintf("PRD-%03d", i+1)); err != nil {
			return err
		}
	}
	return nil
}

// layOne makes a session with ten workstreams, which complete again and again.
func (c crowd) layOne(s *checkpoint.Store, prd string) (err error) {
	ctx := context.Background()
	x, err := s.Lock(ctx, prd, state.Actor{User: "bench"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	phase := state.PhaseShape{Name: "all"}
	for i := range 10 {
		phase.Workstreams = append(phase.Workstreams, state.WorkstreamShape{Name: fmt.Sprint("s", i), Batch: 1})
	}
	err = x.Start(state.SessionStarted{Session: prd, PRD: prd, Title: "many checkpoints", Shape: state.Shape{Phases: []state.PhaseShape{phase}}})
	if err != nil {
		return err
	}
	x.Add(state.PhaseStarted{Phase: phase.Name})
	for i := range c.each {
		name, attempt := phase.Workstreams[i%10].Name, i/10+1
		x.Add(
			state.WorkstreamStarted{Workstream: name, Attempt: attempt},
			state.WorkstreamCompleted{Workstream: name, Work: &state.Work{Attempt: attempt}})
		x.Checkpoint(state.TriggerWorkstreamComplete, "", nil)
		if _, err := x.Drain(ctx); err != nil {
			return err
		}
	}
	return nil
}

// unsynced is a file system without fsync. The system decides when the data of the
// workload reaches the disk.
type unsynced struct{ store.FS }

func (unsynced) SyncDir(string) error { return nil }

func (u unsynced) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	f, err := u.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}

type unsyncedFile struct{ store.File }

func (unsyncedFile) Sync() error { return nil }
