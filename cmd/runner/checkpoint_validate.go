package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/config"
	"slices"

	"github.com/spf13/cobra"
)

type checkpointValidateOptions struct {
	prd        string
	references []string
	deep       bool
	mark       bool
	json       bool
}

// validation is what `checkpoint validate --json` prints.
type validation struct {
	FormatVersion string          `json:"format_version"`
	PRD           string          `json:"prd,omitempty"` // "": all PRDs
	Deep          bool            `json:"deep"`
	Valid         int             `json:"valid"`
	Invalid       int             `json:"invalid"`
	Sessions      []validSession  `json:"sessions"`
	Marks         *validate.Marks `json:"marks,omitempty"` // with --mark
}

type validSession struct {
	PRD         string              `json:"prd"`
	Session     string              `json:"session,omitempty"`
	Place       disk.Place          `json:"place"`
	Path        state.Text          `json:"path"`
	Journal     *journalDamage      `json:"journal_damage,omitempty"` // nil: the journal is intact
	Derived     []journalDamage     `json:"derived_damage,omitempty"` // of the document and the manifest
	LastValid   string              `json:"last_valid,omitempty"`
	Checkpoints []checkedCheckpoint `json:"checkpoints"`
}

type journalDamage struct {
	Path   state.Text `json:"path"`
	Line   int        `json:"line,omitempty"`
	Detail state.Text `json:"detail"`
}

type checkedCheckpoint struct {
	*state.CheckpointRef
	Current    bool         `json:"current"`
	Whole      bool         `json:"whole"`
	Validation checkedParts `json:"validation"`
}

// checkedParts holds the findings of a check of a checkpoint.
type checkedParts struct {
	File     validate.Finding `json:"file"`
	Hash     validate.Finding `json:"hash"`
	State    validate.Finding `json:"state"`
	Objects  validate.Finding `json:"objects"`
	Git      validate.Finding `json:"git"`
	Checksum string           `json:"checksum,omitempty"` // computed now
	Problems []state.Text     `json:"problems"`
	Notes    []state.Text     `json:"notes"`
}

func newCheckedParts(c *validate.CheckpointCheck) checkedParts {
	return checkedParts{
		File: c.File, Hash: c.Hash, State: c.Schema, Objects: c.Objects, Git: c.Git, Checksum: c.Checksum,
		Problems: state.Texts(c.Problems), Notes: state.Texts(c.Notes),
	}
}

func newCheckpointValidateCommand(env *environment) *cobra.Command {
	var o checkpointValidateOptions
	cmd := &cobra.Command{
		Use:   "validate [PRD] [CHECKPOINT]...",
		Short: "Check that checkpoints are intact",
		Long: `Check that checkpoints can be restored: their files, checksums and states, the
objects that they need, and their commits in git. Without CHECKPOINT, check every
session of the PRD, including its journal, document and manifest; without PRD, of
all PRDs. Nothing is changed, unless --mark is given. Exit 5 if anything is
damaged.`,
		Example: `  runner checkpoint validate PRD-009 --deep`,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.prd = first(args); o.prd != "" {
				o.references = args[1:]
			}
			return runCheckpointValidate(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.deep, "deep", false, "read every object, instead of only checking that it exists")
	flags.BoolVar(&o.mark, "mark", false, "record which checkpoints are damaged; with --deep, also which are intact again")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runCheckpointValidate(ctx context.Context, env *environment, o checkpointValidateOptions) error {
	if o.mark && o.prd == "" {
		return advice.Usagef("--mark changes the session of one PRD: name it")
	}
	store, err := openAnyStore(env, o.prd)
	if err != nil {
		return err
	}
	return withFiles(ctx, env, store, func(_ *config.Config, w *workspace.Workspace) error {
		found, err := validate.Run(ctx, store, w, validate.Options{PRD: o.prd, Refs: o.references, Deep: o.deep})
		if errors.Is(err, checkpoint.ErrNoSession) {
			return noSession(env, store, o.prd)
		}
		if err != nil {
			return advice.UnknownReference(o.prd, err)
		}
		var marks *validate.Marks
		if o.mark {
			if marks, err = markFound(ctx, env, store, w, o, found); err != nil {
				return err
			}
		}
		switch {
		case o.json:
			err = writeJSON(env.stdout, newValidation(env, o.prd, found, marks))
		case len(found.Sessions) == 0:
			_, err = fmt.Fprintln(env.stdout, "There are no sessions to validate")
		default:
			err = writeValidation(env.stdout, env, found, marks)
		}
		switch unread := found.Unread(); {
		case err != nil:
		case errors.Is(unread, fs.ErrPermission):
			err = unread
		case found.Damaged():
			err = errDamageShown
		}
		return err
	})
}

// markFound validates again under the lock, and records the findings. It can't record
// anything if the journal is damaged.
func markFound(ctx context.Context, env *environment, store *checkpoint.Store, w *workspace.Workspace, o checkpointValidateOptions, found *validate.Validation) (*validate.Marks, error) {
	for _, s := range found.Sessions {
		if s.Place == disk.PlaceCurrent && s.Journal != nil {
			return nil, nil
		}
	}
	var marks validate.Marks
	record := checkpoint.AuditRecord{What: "checkpoint validate --mark", Args: state.Texts(o.references)}
	t := &target{env: env, store: store, prd: o.prd, files: w}
	err := t.change(ctx, &record, func(session *checkpoint.Session) error {
		now, err := validate.Run(ctx, store, w, validate.Options{PRD: o.prd, Refs: o.references, Deep: o.deep})
		if err == nil {
			*found = *now
			marks, err = validate.Mark(ctx, session, found)
			auditMarks(&record, session.State(), marks)
		}
		return err
	})
	return &marks, err
}

// auditMarks adds to an audit record the checkpoints that were marked and why, and those
// that are intact again.
func auditMarks(record *checkpoint.AuditRecord, st *state.State, marks validate.Marks) {
	record.IDs = slices.Concat(marks.Marked, marks.Unmarked)
	var why []string
	for _, ref := range st.Checkpoints {
		if ref.Damage != nil && slices.Contains(marks.Marked, ref.ID) {
			why = append(why, string(ref.Damage.Reason))
		}
	}
	if len(marks.Unmarked) > 0 {
		why = append(why, "whole again")
	}
	record.Because(why...)
}

func newValidation(env *environment, prd string, found *validate.Validation, marks *validate.Marks) validation {
	v := validation{FormatVersion: outputFormat, PRD: prd, Deep: found.Deep, Sessions: []validSession{}, Marks: marks}
	v.Valid, v.Invalid = found.Count()
	for _, s := range found.Sessions {
		session := validSession{PRD: s.PRD, Place: s.Place, Path: state.Text(env.Display(s.Dir)), Checkpoints: []checkedCheckpoint{}}
		if s.State != nil {
			session.Session = s.State.Session
		}
		if d := s.Journal; d != nil {
			session.Journal = &journalDamage{Path: state.Text(env.Display(d.Path)), Line: d.Line, Detail: state.Text(d.Detail)}
		}
		for _, d := range s.Derived {
			session.Derived = append(session.Derived, journalDamage{Path: state.Text(env.Display(d.Path)), Detail: state.Text(d.Detail)})
		}
		if last := s.LastValid(); last != nil {
			session.LastValid = last.ID
		}
		for i := range s.Checkpoints {
			c := &s.Checkpoints[i]
			session.Checkpoints = append(session.Checkpoints, checkedCheckpoint{c.Ref, c.Current, c.Whole(), newCheckedParts(c)})
		}
		v.Sessions = append(v.Sessions, session)
	}
	return v
}
