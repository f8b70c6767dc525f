// Package safety carries out the commands `runner safety …`: [Create], [List], [Show],
// [Verify], [Restore], [Delete] and [Prune]. Package checkpoint/safety makes and restores
// the checkpoints; here the commands find the state directory, lock it, ask the user, and
// record in the audit log.
package safety

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

// place is what the commands work on.
type place struct {
	env   *cli.Environment
	cfg   *config.Config
	ref   load.PipelineRef // has the savepoints
	store *checkpoint.Store
	files *workspace.Workspace
	saved *safety.Store
}

// inPlace opens the state directory and the workspace, calls do, and closes the workspace.
// ref names the PRD if each has a state directory of its own; else it may name none.
func inPlace(ctx context.Context, env *cli.Environment, ref load.PipelineRef, do func(*place) error) error {
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	if err := ref.FindPRD(env); err != nil {
		return err
	}
	store, err := load.OpenStore(env, cfg, ref)
	if err != nil {
		return err
	}
	w, err := load.SafetyWorkspace(ctx, env, cfg, store, ref)
	if err != nil {
		return err
	}
	err = do(&place{env: env, cfg: cfg, ref: ref, store: store, files: w, saved: store.Safety()})
	return errors.Join(err, w.Close())
}

// find returns the checkpoint that a name means.
func (p *place) find(name string) (*safety.Checkpoint, error) {
	id, err := p.saved.Find(name)
	if err != nil {
		return nil, unknown(err)
	}
	return p.saved.Read(id)
}

// unknown adds a hint to the error of a name that means no checkpoint.
func unknown(err error) error {
	if advice.IsA[*safety.NotFoundError](err) || advice.IsA[*safety.AmbiguousError](err) {
		return advice.With(&advice.UsageError{Err: err}, "`runner safety list` shows them")
	}
	return err
}

// at returns what the report of a checkpoint needs to know of the place.
func (p *place) at(c *safety.Checkpoint) info.SafetyPlace {
	return info.SafetyPlace{CommandLine: p.env.CommandLine, Flags: p.flags(c), Store: p.saved, Objects: p.store.Objects()}
}

// flags returns the flags with which other commands find the databases of a checkpoint.
func (p *place) flags(c *safety.Checkpoint) string {
	if c.Databases == nil {
		return ""
	}
	return p.ref.Flags(p.env, p.cfg)
}

// explainCopy adds to the error of a copy that is still on its server what to do.
func (p *place) explainCopy(err error) error {
	var left *safety.CopyError
	if !errors.As(err, &left) {
		return err
	}
	return advice.With(err, fmt.Sprintf("the checkpoint stays; repeat the command when the server can be reached, or, if it is gone for good, remove %s first", p.env.Display(left.Note)))
}

// listing reads the list of a checkpoint's files; nil if it has none.
func (p *place) listing(ctx context.Context, c *safety.Checkpoint) (*workspace.Listing, error) {
	if c.Files == nil {
		return nil, nil
	}
	return p.files.Load(ctx, c.Files.Listing)
}

// presentKeys returns the present values of a checkpoint's keys. If the session of the keys
// is no longer the current one of its PRD, it returns an error; but if the checkpoint has
// files or databases, too, it warns and returns the values of the checkpoint, so that only
// these are restored.
func (p *place) presentKeys(c *safety.Checkpoint) (map[string]*ledger.Value, error) {
	if c.Keys == nil {
		return nil, nil
	}
	st, err := load.OwnState(p.env, c.Keys.PRD)
	if err == nil && st.Session == c.Keys.Session {
		return st.KeyValues(slices.Collect(maps.Keys(c.Keys.Values))), nil
	}
	values := fmt.Sprintf("%s has their values, for `runner state set`", p.env.Display(p.saved.RecordPath(c.ID)))
	other := &OtherSessionError{c.ID, c.Keys.PRD}
	switch {
	case c.Files != nil || c.Databases != nil:
		p.env.Warn(fmt.Errorf("%w, and are not restored; %s", other, values))
		return c.Keys.Values, nil
	case err != nil:
		return nil, err
	}
	return nil, advice.With(other, values)
}

// OtherSessionError says that the keys in a checkpoint are not those of the current session
// of their PRD, so that they can't be restored.
type OtherSessionError struct{ ID, PRD string }

func (e *OtherSessionError) Error() string {
	return fmt.Sprintf("the keys in %s are those of another session of %s", e.ID, e.PRD)
}

// locked calls do while no session is open, or returns the error of the lock.
func (p *place) locked(do func() error) error {
	lock, err := p.store.LockExclusively()
	if err != nil {
		return err
	}
	return errors.Join(do(), lock.Unlock())
}

// Format is how a command prints its answer.
type Format string

// The formats.
const (
	Text Format = ""
	JSON Format = "json"
	YAML Format = "yaml"
)

// print prints a report as JSON or YAML, or else calls text.
func (p *place) print(f Format, report any, text func() error) error {
	switch f {
	case JSON:
		return show.JSON(p.env.Stdout, report)
	case YAML:
		return show.YAML(p.env.Stdout, report)
	case Text:
	}
	return text()
}
