package safety

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/pipeline/glob"
)

// CreateOptions say what a new safety checkpoint holds.
type CreateOptions struct {
	Pipeline   load.PipelineRef // whose keys and savepoints are meant
	Scope      []string
	Keys       []string
	Savepoints []string // names of savepoint blocks
	Reason     string
	Type       string // "": chosen
	Expiry     string // a duration, Never, or "": as configured
	Sensitive  bool
	Strict     bool
	Format     Format
}

// Never is the expiry of a checkpoint that does not expire.
const Never = "never"

// Create makes a safety checkpoint.
func Create(ctx context.Context, env *cli.Environment, o CreateOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := o.findSavepoints(env); err != nil {
		return err
	}
	return inPlace(ctx, env, o.Pipeline, func(p *place) error {
		made, err := p.create(ctx, o)
		if err != nil {
			return err
		}
		report := info.NewSafetyCreatedReport(p.at(made.Checkpoint), made.Checkpoint, made.Listing, true)
		if made.Listing != nil {
			warnNotCopied(env, made.Listing)
		}
		return p.print(o.Format, report, func() error { return show.SafetyCreated(env.Stdout, report) })
	})
}

// check checks what can be checked before anything is read.
func (o *CreateOptions) check() error {
	if len(o.Scope)+len(o.Keys)+len(o.Savepoints) == 0 {
		return advice.With(advice.Usagef("there is nothing to copy"), "name files with --scope GLOB, keys with --state KEY, or databases with --savepoint NAME")
	}
	for i, text := range o.Scope {
		pattern, excludes := strings.CutPrefix(text, "!")
		switch problem := glob.Problem(pattern); {
		case problem != "":
			return advice.Usagef("--scope %q %s", text, problem)
		case excludes && i == 0:
			return advice.Usagef("--scope %q excludes files from the globs before it, and there is none", text)
		}
	}
	switch t := safety.Type(o.Type); {
	case t == safety.StateSnapshot && len(o.Scope) > 0:
		return advice.Usagef("a %s holds keys, and no files: leave --scope out", t)
	case t == safety.StateSnapshot && len(o.Keys) == 0:
		return advice.Usagef("a %s holds keys: name them with --state", t)
	case t == safety.StateSnapshot && len(o.Savepoints) > 0:
		return advice.Usagef("a %s holds keys, and no databases: leave --savepoint out", t)
	case t == safety.DatabaseSavepoint && len(o.Scope) > 0:
		return advice.Usagef("a %s holds databases, and no files: leave --scope out", t)
	case t == safety.DatabaseSavepoint && len(o.Savepoints) == 0:
		return advice.Usagef("a %s holds databases: name them with --savepoint", t)
	case (t == safety.GitStash || t == safety.FileBackup) && len(o.Scope) == 0:
		return advice.Usagef("a %s holds files: name them with --scope", t)
	}
	_, err := o.expiry(0)
	return err
}

// findSavepoints finds the pipeline that has the savepoints, if there are any.
func (o *CreateOptions) findSavepoints(env *cli.Environment) error {
	if len(o.Savepoints) == 0 {
		return nil
	}
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	p, err := load.Pipeline(env, cfg, o.Pipeline)
	if err != nil {
		return err
	}
	o.Pipeline.PRD = p.ID
	slices.Sort(o.Savepoints)
	o.Savepoints = slices.Compact(o.Savepoints)
	for _, name := range o.Savepoints {
		if _, err := load.Savepoint(p, name); err != nil {
			return err
		}
	}
	return nil
}

// expiry returns for how long the checkpoint is kept; 0: for ever.
func (o *CreateOptions) expiry(configured time.Duration) (time.Duration, error) {
	switch o.Expiry {
	case "":
		return configured, nil
	case Never:
		return 0, nil
	}
	d, err := time.ParseDuration(o.Expiry)
	if err != nil || d <= 0 {
		return 0, advice.Usagef("--expiry takes a duration such as 24h or 168h, or never, not %q", o.Expiry)
	}
	return d, nil
}

func (p *place) create(ctx context.Context, o CreateOptions) (*safety.Created, error) {
	expiry, err := o.expiry(p.cfg.Safety.Expiry)
	if err != nil {
		return nil, err
	}
	options := safety.CreateOptions{
		Scope: o.Scope, Patterns: glob.Patterns(o.Scope), Type: safety.Type(o.Type), Sensitive: o.Sensitive, Strict: o.Strict,
		Databases: o.Savepoints, DatabasesOf: p.ref.PRD, Expiry: expiry, By: p.env.Actor(), Reason: o.Reason,
	}
	if options.Keys, err = p.keys(o); err != nil {
		return nil, err
	}
	record := checkpoint.AuditRecord{What: "safety create", PRD: p.ref.PRD, Args: state.Texts(o.Scope), Reason: state.Text(o.Reason)}
	if o.Sensitive {
		record.Args = append(record.Args, "--include-sensitive")
	}
	for _, name := range o.Savepoints {
		record.Args = append(record.Args, state.Text("--savepoint "+name))
	}
	var made *safety.Created
	err = change.WithAudit(p.env, p.store, &record, func() error {
		lock, err := p.store.LockShared()
		if err != nil {
			return err
		}
		made, err = p.saved.Create(ctx, p.files, options)
		if made != nil {
			record.IDs = []string{made.ID}
		}
		load.SaveCache(p.env, p.files)
		return errors.Join(err, lock.Unlock())
	})
	return made, p.explainCopy(explainCreate(err))
}

// explainCreate adds to the error of a checkpoint that was not made what to type next.
func explainCreate(err error) error {
	var unfit *git.StateError
	var none *safety.NothingMatchesError
	switch {
	case advice.IsA[*safety.SensitiveError](err):
		return advice.With(&advice.UsageError{Err: err}, "leave --strict out to make it without them, or add --include-sensitive to copy them, too")
	case errors.As(err, &none):
		hint := "globs are relative to the workspace"
		if len(none.Sensitive) > 0 {
			hint = "--include-sensitive copies sensitive files, too"
		}
		return advice.With(&advice.UsageError{Err: err}, hint)
	case advice.IsA[*safety.LinkError](err):
		return advice.With(&advice.UsageError{Err: err}, "name the files by the path that the link leads to, if that is in the workspace; --scope with the link's own name copies the link")
	case errors.As(err, &unfit):
		return advice.With(err, unfit.Remedy)
	}
	return err
}

// keys returns the keys to copy, with their values; nil: none.
func (p *place) keys(o CreateOptions) (*safety.Keys, error) {
	if len(o.Keys) == 0 {
		return nil, nil
	}
	prd, err := p.prdOfKeys(p.ref.PRD)
	if err != nil {
		return nil, err
	}
	st, err := load.OwnState(p.env, prd)
	if err != nil {
		return nil, err
	}
	keys := &safety.Keys{PRD: prd, Session: st.Session, Values: st.KeyValues(o.Keys)}
	return keys, p.checkUnset(keys)
}

// checkUnset warns of keys that are not set, and refuses those that look like globs.
func (p *place) checkUnset(keys *safety.Keys) error {
	for _, key := range keys.Unset() {
		if strings.ContainsAny(key, "*?[{") {
			return advice.With(advice.Usagef("--state takes the name of one key, and no key is named %q", key),
				fmt.Sprintf("`runner state list %s` lists the keys; name each with a --state of its own", keys.PRD))
		}
		p.env.Warn(fmt.Errorf("%s has no key %s; the checkpoint records that, and a restore removes the key", keys.PRD, key))
	}
	return nil
}

// prdOfKeys returns the PRD whose keys are meant: the given one, or the only one.
func (p *place) prdOfKeys(given string) (string, error) {
	if given != "" {
		return given, load.CheckPRD(p.env, p.cfg, given)
	}
	known, err := p.store.Reader().PRDs()
	if err != nil {
		return "", err
	}
	if len(known) != 1 {
		slices.Sort(known)
		return "", advice.With(advice.Usagef("--state needs to know whose keys are meant: there are %d sessions", len(known)), "name one with --prd PRD")
	}
	return known[0], nil
}

// warnNotCopied warns of files in scope that were not copied.
func warnNotCopied(env *cli.Environment, l *workspace.Listing) {
	warn := func(paths []string, one, more string) {
		const most = 10
		for i, path := range paths {
			if i == most {
				env.Warn(fmt.Errorf("%d more files "+more, len(paths)-most))
				return
			}
			env.Warn(fmt.Errorf("%s "+one, path))
		}
	}
	warn(l.LeftOut, "looks sensitive, and is not copied; --include-sensitive copies it", "look sensitive, and are not copied")
	warn(l.Unstable, "kept changing while it was read, and is not copied", "kept changing while they were read, and are not copied")
	warn(l.Special, "can't be read, or is no file of this workspace, and is not copied", "can't be read, or are no files of this workspace, and are not copied")
}
