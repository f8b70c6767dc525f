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
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
)

// Reader reads what the gates of a session judge.
type Reader struct {
	Env   *cli.Environment
	Store *checkpoint.Store
	State *state.State
}

// Find returns what a person judges who answers each of some gates. What can't be found out, it says.
func (r Reader) Find(ctx context.Context, gates ...*state.Gate) []*info.Judged {
	judged := make([]*info.Judged, len(gates))
	if len(gates) == 0 {
		return judged
	}
	s := r.survey(ctx, false)
	for i, g := range gates {
		_, files := s.files(g)
		judged[i] = info.NewJudged(r.State, g, files)
	}
	return judged
}

// survey finds out what changed since the work of gates began. Many gates may wait: the journal is read
// once, and the workspace is compared once with each checkpoint.
type survey struct {
	Reader
	starts  starts
	err     error // why the journal can't be read
	compare func(base *state.CheckpointRef) (*compare.Comparison, error)
	done    map[string]comparison // by the checkpoint's ID
}

// comparison is what compare returned.
type comparison struct {
	*compare.Comparison
	err error
}

// survey begins a survey, with the texts of the differences if that is asked for.
func (r Reader) survey(ctx context.Context, texts bool) *survey {
	s := &survey{Reader: r, done: map[string]comparison{}}
	_, s.err = r.Store.Reader().Replay(r.State.PRD, s.starts.visit)
	s.compare = func(base *state.CheckpointRef) (c *compare.Comparison, err error) {
		err = load.WithWorkspace(ctx, r.Env, r.Store, func(_ *config.Config, w *workspace.Workspace) error {
			c, err = compare.Points(ctx, r.Store, w, r.State.PRD, compare.Options{
				From: base.ID, To: compare.PointWorkspace, Now: r.Env.Now(), Lines: true, Texts: texts,
			})
			return err
		})
		return c, err
	}
	return s
}

// files compares the workspace with the checkpoint before the work that a gate judges. The comparison
// is nil if there can't be one.
func (s *survey) files(g *state.Gate) (*compare.Comparison, info.FilesSince) {
	unknown := func(why string) (*compare.Comparison, info.FilesSince) {
		return nil, info.FilesSince{Unknown: state.Text(s.Env.Localize(why))}
	}
	base, before, err := s.base(g)
	if err != nil {
		return unknown(err.Error())
	}
	if base == nil {
		return unknown("there is no checkpoint " + before)
	}
	c, ok := s.done[base.ID]
	if !ok {
		c.Comparison, c.err = s.compare(base)
		s.done[base.ID] = c
	}
	if c.err != nil {
		return unknown(c.err.Error())
	}
	files := info.NewFilesSince(c.Comparison, before)
	files.Difference = state.Text(s.Env.Command(info.DifferenceCommand(s.State.PRD, base.ID)))
	return c.Comparison, files
}

// atStart is the moment of the first checkpoint of a session that has results of an earlier one: its files may have been
// edited since those were judged.
const atStart = "when this session began; what changed before is not counted"

// base returns the last checkpoint before the work that a gate judges began in this session, and
// what began then. It is nil if there is none. Work that began in an earlier session is compared
// with the first checkpoint of this one.
func (s *survey) base(g *state.Gate) (*state.CheckpointRef, string, error) {
	if s.err != nil {
		return nil, "", s.err
	}
	began, name, err := s.starts.of(g)
	if err != nil {
		return nil, "", err
	}
	kept := slices.DeleteFunc(slices.Clone(s.State.Checkpoints), func(c *state.CheckpointRef) bool {
		return !c.Valid || c.Damage != nil || c.Trigger == state.TriggerPreRollback
	})
	if began == 0 {
		for _, c := range kept {
			if c.Trigger == state.TriggerStart {
				return c, atStart, nil
			}
		}
		return nil, "of the time when this session began", nil
	}
	before := "before " + name + " began"
	for _, c := range slices.Backward(kept) {
		if c.Seq < began {
			if c.Trigger == state.TriggerStart && s.State.BeganFrom != nil {
				before = atStart
			}
			return c, before, nil
		}
	}
	return nil, "of the time " + before, nil
}
