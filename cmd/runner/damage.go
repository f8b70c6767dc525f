package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/runner/view"
)

// damageIn returns which checkpoint an error says is damaged, and why; ok is
// false for other errors. target is the checkpoint that was to be restored.
func damageIn(err error, target string) (id, reason string, ok bool) {
	var damaged *checkpoint.DamagedError
	var missing *workspace.MissingError
	switch {
	case errors.As(err, &damaged) && damaged.Checkpoint != "":
		return damaged.Checkpoint, damaged.Detail, true
	case errors.As(err, &missing) && target != "":
		return target, missing.Error(), true
	}
	return "", "", false
}

// meetDamage marks a checkpoint that a command found damaged, names the last
// one that is not, and the ways to go on. It returns the error that told of it.
func meetDamage(ctx context.Context, env *environment, store *checkpoint.Store, session *checkpoint.Session, target string, err error) error {
	id, reason, ok := damageIn(err, target)
	if !ok {
		return err
	}
	st := session.State()
	record := checkpoint.AuditRecord{By: env.actor(), What: "checkpoint mark", PRD: st.PRD, Args: []checkpoint.Text{checkpoint.Text(id), checkpoint.Text(reason)}}
	if marked := store.Audited(record, func() error { return session.MarkDamaged(ctx, id, reason) }); marked != nil {
		return errors.Join(err, marked)
	}
	writeDamage(env, session.State(), id, reason)
	return err
}

func writeDamage(env *environment, st *checkpoint.State, id, reason string) {
	var b strings.Builder
	fmt.Fprintf(&b, "⚠️  CHECKPOINT DAMAGED\n%s\n\nDamaged: %s\nReason: %s\n\n", rule, id, view.OneLine(reason))
	commands := [][2]string{}
	if last := st.CurrentCheckpoint(); last != nil {
		fmt.Fprintf(&b, "Last valid checkpoint: %s (Step %d)\n\n", last.ID, last.Step)
		commands = append(commands, [2]string{"checkpoint rollback " + st.PRD + " " + last.ID, "roll back to the last valid one"})
	} else {
		b.WriteString("There is no valid checkpoint.\n\n")
	}
	commands = append(commands,
		[2]string{"checkpoint rebuild " + st.PRD + " " + id, "try to rebuild it"},
		[2]string{"checkpoint delete " + st.PRD + " " + id, "delete it"},
		[2]string{"build " + st.PRD + " --resume", "go on without it"},
	)
	b.WriteString("Options:\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "  %s   %s\n", env.command(c[0]), c[1])
	}
	fmt.Fprintf(&b, "%s\n", rule)
	fmt.Fprint(env.stderr, b.String())
}
