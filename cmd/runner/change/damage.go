package change

import (
	"context"
	"errors"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/show"
)

// DamageIn returns the id of the checkpoint that an error reports as damaged, and the
// reason. ok is false for other errors. target is the checkpoint that the command was to
// restore.
func DamageIn(err error, target string) (id, reason string, ok bool) {
	var damaged *state.DamagedError
	var missing *workspace.MissingError
	switch {
	case errors.As(err, &damaged) && damaged.Checkpoint != "":
		return damaged.Checkpoint, damaged.Detail, true
	case errors.As(err, &missing) && target != "":
		return target, missing.Error(), true
	}
	return "", "", false
}

// MarkDamage marks a checkpoint that a command found damaged, and shows the last intact
// one and the commands that can follow. restored is the checkpoint that the command was to
// restore. It returns the error that reported the damage.
func MarkDamage(ctx context.Context, t *Target, session *checkpoint.Session, restored string, err error) error {
	id, reason, ok := DamageIn(err, restored)
	if !ok {
		return err
	}
	st := session.State()
	record := checkpoint.AuditRecord{What: "checkpoint mark", PRD: st.PRD, Session: st.Session, IDs: []string{id}, Reason: state.Text(reason)}
	if marked := WithAudit(t.Env, t.Store, &record, func() error { return validate.MarkDamaged(ctx, session, id, reason) }); marked != nil {
		return errors.Join(err, marked)
	}
	return errors.Join(err, ReportDamage(ctx, t.Env, t.Store, t.Files, session.State(), id, reason))
}

// ReportDamage reports a damaged checkpoint. It has read every byte of the last valid
// checkpoint that it names.
func ReportDamage(ctx context.Context, env *cli.Environment, store *checkpoint.Store, w *workspace.Workspace, st *state.State, id, reason string) error {
	last, err := validate.LastWhole(ctx, store, w, st, id)
	if err != nil {
		return err
	}
	return show.Damage(env.Stderr, env.CommandLine, st, id, reason, last)
}
