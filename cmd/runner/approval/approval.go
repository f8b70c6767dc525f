// Package approval gathers what a person judges who answers a gate: the files that changed since
// the work began, metrics, and the other gates.
//
// It reads the session and the workspace, takes no lock, and changes nothing. How the facts are
// shown belongs in package show; how an answer is given, in package answer. Begin with Reader.Find.
// Guide shows the facts at the prompt of a build.
package approval

import (
	"context"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/compare"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner/view"
)

// Reader reads what the gates of a session judge.
type Reader struct {
	Env   *cli.Environment
	Store *checkpoint.Store
	State *state.State
}

// Find returns what a person judges who answers a gate. What can't be found out, it says.
func (r Reader) Find(ctx context.Context, g *state.Gate) *show.Judged {
	_, files := r.files(ctx, g, false)
	return show.NewJudged(r.State, g, files)
}

// files compares the workspace with the checkpoint before the work that a gate judges, with the
// texts of the differences if that is asked for. The comparison is nil if there can't be one.
func (r Reader) files(ctx context.Context, g *state.Gate, texts bool) (*compare.Comparison, show.FilesSince) {
	unknown := func(why string) (*compare.Comparison, show.FilesSince) {
		return nil, show.FilesSince{Unknown: state.Text(r.Env.Localize(why))}
	}
	base, before, err := r.base(g)
	if err != nil {
		return unknown(err.Error())
	}
	if base == nil {
		return unknown("there is no checkpoint " + before)
	}
	var c *compare.Comparison
	err = load.WithWorkspace(ctx, r.Env, r.Store, func(_ *config.Config, w *workspace.Workspace) error {
		c, err = compare.Points(ctx, r.Store, w, r.State.PRD, compare.Options{
			From: base.ID, To: compare.PointWorkspace, Now: r.Env.Now(), Lines: true, Texts: texts,
		})
		return err
	})
	if err != nil {
		return unknown(err.Error())
	}
	files := show.NewFilesSince(c, before)
	files.Difference = state.Text(r.Env.Command(show.DifferenceCommand(r.State.PRD, base.ID)))
	return c, files
}

// base returns the last checkpoint before the work that a gate judges began in this session, and
// what began then. It is nil if there is none. Work that began in an earlier session is compared
// with the first checkpoint of this one.
func (r Reader) base(g *state.Gate) (*state.CheckpointRef, string, error) {
	began, name, err := r.began(g)
	if err != nil {
		return nil, "", err
	}
	kept := slices.DeleteFunc(slices.Clone(r.State.Checkpoints), func(c *state.CheckpointRef) bool {
		return !c.Valid || c.Damage != nil || c.Trigger == state.TriggerPreRollback
	})
	if began == 0 {
		for _, c := range kept {
			if c.Trigger == state.TriggerStart {
				return c, "when this session began, with work of an earlier one", nil
			}
		}
		return nil, "of the time when this session began", nil
	}
	before := "before " + name + " began"
	for _, c := range slices.Backward(kept) {
		if c.Seq < began {
			return c, before, nil
		}
	}
	return nil, "of the time " + before, nil
}

// began returns the number of the commit with which the workstream or phase began that a gate
// judges, 0 if it began in an earlier session, and its name.
func (r Reader) began(g *state.Gate) (seq uint64, name string, err error) {
	ws, phase := g.Owner()
	if name = phase.Name; ws != nil {
		name = ws.Name
	}
	_, err = r.Store.Reader().Replay(r.State.PRD, func(c state.Commit) error {
		for _, e := range c.Events {
			if seq == 0 && begins(e, ws, phase) {
				seq = c.Seq
			}
		}
		return nil
	})
	if err != nil {
		return 0, "", err
	}
	return seq, view.OneLine(name), nil
}

// begins reports whether a workstream, or without one a phase, begins with an event.
func begins(e state.Event, ws *state.Workstream, phase *state.Phase) bool {
	switch e := e.(type) {
	case state.WorkstreamStarted:
		return ws != nil && e.Workstream == ws.Name
	case state.PhaseStarted:
		return ws == nil && e.Phase == phase.Name
	}
	return false
}
