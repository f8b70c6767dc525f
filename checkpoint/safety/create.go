package safety

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// CreateOptions say what a checkpoint copies. Patterns, Keys or Databases is required.
type CreateOptions struct {
	Scope       []string      // globs of files as they were given; nil: Patterns
	Patterns    []string      // the patterns that they stand for
	Type        Type          // of the files; "": GitStash if git tracks one of them and can do it, else FileBackup
	WithIndex   bool          // choose GitStash even if git tracks no file, if git can do it
	Keys        *Keys         // nil: none
	Databases   []string      // names of savepoint blocks
	DatabasesOf string        // the PRD whose pipeline has these blocks
	Sensitive   bool          // copy sensitive files, too
	Strict      bool          // fail with a *SensitiveError instead of leaving sensitive files out
	MayBeNone   bool          // no file need match Patterns
	Expiry      time.Duration // 0: never
	By          state.Actor
	Reason      string
	Undoes      string // see Checkpoint
}

// Created is a new checkpoint.
type Created struct {
	*Checkpoint
	Listing *workspace.Listing // the files; nil: the checkpoint has none

	sameAs string // the checkpoint that has the same files, of a file_backup for which nothing had to be copied
}

// SensitiveError says that files in scope look sensitive. No checkpoint was made.
type SensitiveError struct{ Paths []string }

func (e *SensitiveError) Error() string {
	return "these files look sensitive: " + strings.Join(e.Paths, ", ")
}

// NothingMatchesError says that a checkpoint would be empty.
type NothingMatchesError struct {
	Scope     []string
	Sensitive []string // files in scope that look sensitive
	Unread    []string // files in scope that can't be read, and what is no file
}

func (e *NothingMatchesError) Error() string {
	text := "no file matches " + strings.Join(e.Scope, " ")
	if absent := slices.Concat(e.Sensitive, e.Unread); len(absent) > 0 {
		text += " but " + joinSome(absent) + ", which can't be copied"
	}
	return text
}

// Create makes a checkpoint, and verifies it. It reads back what it stored, checks that
// nothing has changed meanwhile, and tries the restore in a dry run. The checkpoint is
// durable when Create returns. If Create fails there is no checkpoint, and Tidy removes
// leftover files. The caller holds the lock of the state directory, at least shared.
func (s *Store) Create(ctx context.Context, w *workspace.Workspace, o CreateOptions) (*Created, error) {
	made, err := s.create(ctx, w, o)
	if err != nil {
		return nil, fmt.Errorf("make a safety checkpoint: %w", err)
	}
	return made, nil
}

func (s *Store) create(ctx context.Context, w *workspace.Workspace, o CreateOptions) (*Created, error) {
	if o.Undoes == "" { // the scope of an undo is given; something may have become a link since
		if err := checkLinks(w, o.Patterns); err != nil {
			return nil, err
		}
	}
	now := s.Now().UTC()
	c := &Checkpoint{
		ID: newID(now), Type: StateSnapshot, CreatedAt: now, By: o.By, Reason: state.Text(o.Reason), Undoes: o.Undoes, Keys: o.Keys,
	}
	if o.Expiry > 0 {
		at := now.Add(o.Expiry)
		c.ExpiresAt = &at
	}
	if err := store.MkdirAll(s.FS, s.Dir, filepath.Join(s.Dir, c.ID)); err != nil {
		return nil, err
	}
	made := &Created{Checkpoint: c}
	if err := s.fill(ctx, w, made, o); err != nil {
		return nil, errors.Join(err, s.abandon(ctx, w, c.ID))
	}
	if err := s.write(c); err != nil {
		return nil, errors.Join(err, s.Delete(context.WithoutCancel(ctx), w, c.ID))
	}
	// The record holds the values of keys, which are in no object.
	back, err := s.Read(c.ID)
	if err == nil && hashOf(made.Listing, back.Keys, back.Databases) != c.Hash {
		err = fmt.Errorf("read back %s: its hash differs", s.RecordPath(c.ID))
	}
	if err != nil {
		return nil, errors.Join(err, s.Delete(context.WithoutCancel(ctx), w, c.ID))
	}
	return made, nil
}

// fill copies what a new checkpoint holds, and checks the copies.
func (s *Store) fill(ctx context.Context, w *workspace.Workspace, made *Created, o CreateOptions) error {
	c := made.Checkpoint
	if len(o.Patterns) > 0 {
		k := &copying{store: s, w: w, o: o, made: made}
		if err := k.copyFiles(ctx); err != nil {
			return err
		}
	}
	if err := s.copyDatabases(ctx, c, o); err != nil {
		return err
	}
	if len(o.Patterns) == 0 {
		c.Checks = checksWithoutFiles(c)
	}
	c.Hash = hashOf(made.Listing, c.Keys, c.Databases)
	return s.tryRestore(ctx, w, made)
}

// checksWithoutFiles returns the checks of a new checkpoint without files. Each copy of a
// database has been proved.
func checksWithoutFiles(c *Checkpoint) []Check {
	n, complete, stable := len(c.Databases.Names()), "every database was copied", "each database was copied as it was at one moment"
	if n > 0 {
		c.Type = DatabaseSavepoint
	}
	if c.Keys != nil {
		n += len(c.Keys.Values)
		if c.Databases == nil {
			complete, stable = "every key is in the record", "the keys were read at one moment"
		}
	}
	return []Check{contentsCheck(n, 0), {CompleteCheck, 1, state.Text(complete)}, {StableCheck, 1, state.Text(stable)}}
}

// tryRestore tries the restore of a new checkpoint in a dry run, and adds what it finds to
// the checks. If nothing had to be copied, there is nothing to try: the files have just
// been compared with those of an earlier checkpoint, whose contents are there.
func (s *Store) tryRestore(ctx context.Context, w *workspace.Workspace, made *Created) error {
	c := made.Checkpoint
	if made.sameAs != "" {
		c.Checks = append(c.Checks,
			Check{StableCheck, 1, state.Text("nothing had to be copied: every file was as " + made.sameAs + " has it")},
			Check{RestoreCheck, 1, "a restore would change nothing, and no content is missing"})
		return nil
	}
	plan, err := s.planRestore(ctx, w, c, made.Listing)
	if err != nil {
		return err
	}
	if made.Listing != nil {
		c.Checks = append(c.Checks, plan.stableCheck())
	}
	c.Checks = append(c.Checks, plan.restoreCheck())
	return nil
}
