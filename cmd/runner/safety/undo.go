package safety

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/safety"
	"prdrunner/cmd/runner/advice"
)

// undoExpiry is for how long the copy from before a restore is kept.
const undoExpiry = 7 * 24 * time.Hour

// makeUndo copies what a restore changes, and returns the ID of the copy; "" if none was
// asked for. It refuses to restore over a file that can't be copied. Of what an interrupted
// restore left it makes a copy only if that was edited since: one of the two checkpoints
// has everything else.
func (p *place) makeUndo(ctx context.Context, plan *safety.RestorePlan, o RestoreOptions) (string, error) {
	if o.NoUndo || plan.Interrupted != nil && len(plan.Newer) == 0 {
		return "", nil
	}
	options := safety.CreateOptions{
		MayBeNone: true, Expiry: undoExpiry, By: p.env.Actor(), Reason: "before " + plan.ID + " was restored", Undoes: plan.ID,
	}
	if plan.Listing != nil {
		options.Patterns, options.Sensitive = plan.Listing.Patterns, plan.Files.Sensitive
		for _, glob := range plan.Files.Scope {
			options.Scope = append(options.Scope, string(glob))
		}
	}
	if plan.Keys != nil {
		values, err := p.presentKeys(plan.Checkpoint)
		if err != nil {
			return "", err
		}
		options.Keys = &safety.Keys{PRD: plan.Keys.PRD, Session: plan.Keys.Session, Values: values}
	}
	made, err := p.saved.Create(ctx, p.files, options)
	if err != nil {
		return "", err
	}
	lost := notCopied(plan, made)
	if len(lost) == 0 || o.Force {
		return made.ID, nil
	}
	err = advice.With(advice.Usagef("what is there now can't be copied first, since it looks sensitive or can't be read: %s", strings.Join(lost, ", ")),
		fmt.Sprintf("`runner safety restore %s --force` overwrites it", plan.ID))
	return "", errors.Join(err, p.saved.Delete(ctx, p.files, made.ID))
}

// notCopied returns the files that a plan overwrites or removes and that the copy of the
// present files lacks.
func notCopied(plan *safety.RestorePlan, undo *safety.Created) []string {
	var lost []string
	for _, c := range plan.Changes {
		if c.From != nil && undo.Listing.Lacks(c.Path) {
			lost = append(lost, c.Path)
		}
	}
	slices.Sort(lost)
	return lost
}
