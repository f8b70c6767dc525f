package main

import (
	"context"
	"errors"
	"fmt"
	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
)

// adoptResult is what `checkpoint import --adopt --json` prints.
type adoptResult struct {
	FormatVersion string `json:"format_version"`
	PRD           string `json:"prd"`
	Session       string `json:"session"`
	DryRun        bool   `json:"dry_run"`
	Untracked     int    `json:"untracked"` // number of files to remove from git's index, or removed
}

// runCheckpointAdopt adopts a session that git tracks.
func runCheckpointAdopt(ctx context.Context, env *environment, o checkpointImportOptions) error {
	cfg, err := loadConfig(env)
	if err != nil {
		return err
	}
	if err := checkPRD(env, cfg, o.adopt); err != nil {
		return err
	}
	store, err := openStore(env, cfg, o.adopt)
	if err != nil {
		return err
	}
	snap, err := store.Load(o.adopt)
	if err != nil && !errors.Is(err, checkpoint.ErrNoSession) {
		return err
	}
	none := err != nil
	untrusted, err := store.Untrusted(ctx, o.adopt)
	switch {
	case err == nil && none && untrusted != nil:
		return advice.With(advice.Usagef("there is no session of %s to adopt: what git tracks of it is of earlier ones", o.adopt), advice.Untrusted(untrusted))
	case err == nil && none:
		return noSession(env, store, o.adopt)
	case err != nil:
		return err
	case untrusted == nil:
		return advice.With(advice.Usagef("there is nothing to adopt: git does not track the state of %s", o.adopt), fmt.Sprintf("`runner status %s` shows its state", o.adopt))
	case snap.Owner != nil:
		return advice.LockedBy(o.adopt, *snap.Owner)
	case snap.State == nil:
		return advice.With(handWritten(o.adopt), fmt.Sprintf("read it; then `git rm --cached %s` takes it out of git, and a build continues from it", env.Display(untrusted.Path)))
	}
	result := adoptResult{FormatVersion: outputFormat, PRD: o.adopt, Session: snap.State.Session, DryRun: o.dryRun, Untracked: untrusted.Tracked}
	if o.dryRun {
		return writeAdopted(env, o, result)
	}
	question := fmt.Sprintf("Take over the session of %s (%s), and take its %s out of git's index?", o.adopt, progress(snap.State), view.Plural(untrusted.Tracked, "file"))
	if err := confirm(ctx, env.terminal(), o.yes, question); err != nil {
		return err
	}
	record := checkpoint.AuditRecord{What: "checkpoint import --adopt", PRD: o.adopt, Session: result.Session}
	if err := audited(env, store, &record, func() error { return adopt(ctx, env, store, o.adopt) }); err != nil {
		return err
	}
	return writeAdopted(env, o, result)
}

func adopt(ctx context.Context, env *environment, store *checkpoint.Store, prd string) error {
	session, err := store.LockUntrusted(ctx, prd, env.actor())
	if err != nil {
		return err
	}
	return errors.Join(session.Adopt(ctx, env.actor()), session.Close())
}

// writeAdopted shows which session was adopted, or would be.
func writeAdopted(env *environment, o checkpointImportOptions, result adoptResult) error {
	if o.json {
		return writeJSON(env.stdout, result)
	}
	verb, files := "Adopted", view.Plural(result.Untracked, "file")
	if result.DryRun {
		verb = "Would adopt"
	}
	fmt.Fprintf(env.stdout, "%s the session of %s (%s): its approvals are asked for again, and its gates judged again\n", verb, result.PRD, shownID(result.Session))
	if result.DryRun {
		fmt.Fprintf(env.stdout, "Would take %s out of git's index\n", files)
		return nil
	}
	fmt.Fprintf(env.stdout, "Took %s out of git's index; the next commit has them no more\n", files)
	fmt.Fprintf(env.stdout, "Resume it: %s\n", env.Command("build "+result.PRD+" --resume"))
	return nil
}

// warnUntrusted warns that git tracks the state that a command shows, and that nothing
// runs until the user decides.
func warnUntrusted(env *environment, store *checkpoint.Store, prd string) {
	untrusted, err := store.Untrusted(context.Background(), prd)
	switch {
	case err != nil:
		fmt.Fprintf(env.stderr, "Warning: cannot tell whether git tracks the state of %s: %v\n", prd, err)
	case untrusted != nil:
		fmt.Fprintf(env.stderr, "Warning: %s\nNothing runs until you decide: %s\n", env.Localize(untrusted.Error()), env.Localize(advice.Untrusted(untrusted)))
	}
}

// setUntrustedAside moves state that git tracks to a directory that no command reads, and
// tells the user.
func setUntrustedAside(ctx context.Context, env *environment, store *checkpoint.Store, prd, what string, args ...state.Text) error {
	var to string
	record := checkpoint.AuditRecord{What: what, PRD: prd, Args: args}
	err := audited(env, store, &record, func() (err error) {
		to, err = store.SetUntrustedAside(ctx, prd)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(env.stderr, "Git tracked the state of %s. Set it aside under %s, and took it out of git's index; the next commit has it no more\n", prd, env.Display(to))
	return nil
}

// trust refuses to build on state that git tracks. With --fresh it sets that state aside
// instead.
func (s *starter) trust(ctx context.Context) error {
	untrusted, err := s.store.Untrusted(ctx, s.prd)
	switch {
	case err != nil:
		return err
	case untrusted == nil:
		return nil
	case s.fresh:
		return setUntrustedAside(ctx, s.env, s.store, s.prd, "build --fresh")
	}
	return untrusted
}
