package safety

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"prdrunner/checkpoint/safety"
	"prdrunner/cmd/runner/advice"
)

// undoExpiry is for how long the copy from before a restore is kept.
const undoExpiry = 7 * 24 * time.Hour

// undo is the copy from before a restore.
type undo struct {
	id    string
	lacks []string // files that the restore overwrites or removes, and that could not be copied
}

// copies reports whether a restore makes a copy before it changes anything. Of what an
// interrupted restore left it makes one only if that was edited since: one of the two
// checkpoints has everything else.
func (o *RestoreOptions) copies(plan *safety.RestorePlan) bool {
	return !o.NoUndo && (plan.Interrupted == nil || len(plan.Newer) > 0)
}

// makeUndo copies what a restore changes, if the options ask for that. It refuses to restore
// over a file that can't be copied, unless the restore is forced.
func (p *place) makeUndo(ctx context.Context, plan *safety.RestorePlan, o RestoreOptions) (*undo, error) {
	if !o.copies(plan) {
		return &undo{}, nil
	}
	options := safety.CreateOptions{
		MayBeNone: true, Expiry: undoExpiry, By: p.env.Actor(), Reason: "before " + plan.ID + " was restored", Undoes: plan.ID,
	}
	if plan.Listing != nil {
		options.Patterns, options.Sensitive, options.WithIndex = plan.Listing.Patterns, plan.Files.Sensitive, plan.Files.Git != nil
		for _, glob := range plan.Files.Scope {
			options.Scope = append(options.Scope, string(glob))
		}
	}
	if plan.Keys != nil {
		values, err := p.presentKeys(plan.Checkpoint)
		if err != nil {
			return nil, err
		}
		options.Keys = &safety.Keys{PRD: plan.Keys.PRD, Session: plan.Keys.Session, Values: values}
	}
	for _, c := range plan.DatabaseChanges {
		if c.Readable() {
			options.Databases, options.DatabasesOf = append(options.Databases, c.Name), plan.Databases.PRD
		}
	}
	made, err := p.saved.Create(ctx, p.files, options)
	if err != nil {
		return nil, err
	}
	u := &undo{made.ID, plan.Lacking(made)}
	if len(u.lacks) == 0 || o.Force {
		if len(plan.Index) > 0 && made.Files.Git == nil {
			u.lacks = append(u.lacks, "git's index")
		}
		return u, nil
	}
	return nil, errors.Join(uncopied(plan.ID, u.lacks), p.saved.Delete(ctx, p.files, made.ID))
}

// UncopiedError says that a restore would overwrite or remove files that can't be copied
// first. Nothing was changed.
type UncopiedError struct{ Paths []string }

func (e *UncopiedError) Error() string {
	return "what is there now can't be copied first, since it looks sensitive or can't be read: " + strings.Join(e.Paths, ", ")
}

func uncopied(id string, paths []string) error {
	return advice.With(&UncopiedError{paths}, fmt.Sprintf("move it away, or overwrite it with `runner safety restore %s --force`, which can't be undone there", id))
}
