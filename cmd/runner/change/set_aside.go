package change

import (
	"context"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/cli"
)

// SetNewerAside moves a session that a newer version wrote to failed/, unchanged, and
// tells the user.
func SetNewerAside(ctx context.Context, env *cli.Environment, store *checkpoint.Store, prd, what string, reason state.Text) error {
	var at string
	record := checkpoint.AuditRecord{What: what, PRD: prd, Reason: reason}
	err := WithAudit(env, store, &record, func() (err error) {
		at, err = store.SetAside(ctx, prd)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "A newer version wrote the session of %s. Set it aside under %s, as it is\n", prd, env.Display(at))
	return nil
}

// SetUntrustedAside moves state that git tracks to a directory that no command reads, and
// tells the user.
func SetUntrustedAside(ctx context.Context, env *cli.Environment, store *checkpoint.Store, prd, what string, args ...state.Text) error {
	var to string
	record := checkpoint.AuditRecord{What: what, PRD: prd, Args: args}
	err := WithAudit(env, store, &record, func() (err error) {
		to, err = store.SetUntrustedAside(ctx, prd)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "Git tracked the state of %s. Set it aside under %s, and took it out of git's index; the next commit has it no more\n", prd, env.Display(to))
	return nil
}
