package main

import (
	"context"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/config"
	"prdrunner/runner/view"
)

// notCaptured lists the files in the scope of a capture that it left out.
type notCaptured struct {
	LeftOut  []state.Text `json:"left_out"` // sensitive
	Unstable []state.Text `json:"unstable"` // kept changing
	Special  []state.Text `json:"special"`  // cannot be read, is not a regular file, is larger than 64 GiB, or is another repository
}

func newNotCaptured(leftOut, unstable, special []string) notCaptured {
	return notCaptured{LeftOut: state.Texts(leftOut), Unstable: state.Texts(unstable), Special: state.Texts(special)}
}

// leftOutOf returns the files that the capture of a checkpoint left out.
func leftOutOf(ctx context.Context, env *environment, store *checkpoint.Store, ref *state.CheckpointRef) (notCaptured, error) {
	l := &workspace.Listing{}
	if c := ref.Capture; c != nil && c.LeftOut+c.Unstable+c.Special > 0 {
		err := withFiles(ctx, env, store, func(_ *config.Config, w *workspace.Workspace) (err error) {
			l, err = w.Load(ctx, c.Listing)
			return err
		})
		if err != nil {
			return notCaptured{}, err
		}
	}
	return newNotCaptured(l.LeftOut, l.Unstable, l.Special), nil
}

// lines returns a line for each file, for people.
func (n notCaptured) lines() []string {
	var lines []string
	for _, kind := range []struct {
		why   string
		paths []state.Text
	}{
		{"looks sensitive or holds a sensitive value", n.LeftOut},
		{"kept changing", n.Unstable},
		{"cannot be read, is not a regular file, is larger than 64 GiB, or is another repository", n.Special},
	} {
		for _, path := range kind.paths {
			lines = append(lines, "Left out, since it "+kind.why+": "+view.OneLine(string(path)))
		}
	}
	return lines
}
