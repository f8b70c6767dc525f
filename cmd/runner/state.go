package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
)

type stateOptions struct {
	pipeline load.PipelineRef
	report   ledger.Report
	json     bool
}

// newStateCommand returns the group of commands about the keys of a session's state.
func newStateCommand(env *cli.Environment) *cobra.Command {
	cmd := cli.NewGroup("state", "Read and set keys of a session's state",
		newStateGetCommand(env),
		newStateSetCommand(env),
		newStateUnsetCommand(env),
		newStateListCommand(env),
	)
	cmd.Long = `Read and set keys of a session's state. A key is a name of your choice, such as
migration/last, and its value is a text. A rollback takes the values back to
those of the checkpoint.

Everyone may read keys. The processes of a workstream may set them while the
session runs; other commands may only set them while it does not.`
	return cmd
}

func newStateGetCommand(env *cli.Environment) *cobra.Command {
	var o stateOptions
	cmd := &cobra.Command{
		Use:     "get PRD KEY",
		Short:   "Print the value of a key",
		Long:    `Print the value of a key. If the key is not set, the command exits 2.`,
		Example: `  runner state get PRD-009 migration/last`,
		Args:    cli.Arguments(2, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			o.pipeline.PRD, o.report.Key = args[0], args[1]
			return runStateGet(env, o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runStateGet(env *cli.Environment, o stateOptions) error {
	prd, key := o.pipeline.PRD, o.report.Key
	st, err := load.OwnState(env, prd)
	if err != nil {
		return err
	}
	v, has := st.Ledgers.Values[key]
	if !has {
		return advice.With(advice.Usagef("the state of %s has no key %q", prd, key), fmt.Sprintf("`runner state list %s` lists the keys", prd))
	}
	if o.json {
		return show.JSON(env.Stdout, info.NewLedgerReport(prd, map[string]ledger.Value{key: v}))
	}
	_, err = fmt.Fprintln(env.Stdout, v.Value)
	return err
}

func newStateListCommand(env *cli.Environment) *cobra.Command {
	var o stateOptions
	cmd := &cobra.Command{
		Use:   "list PRD",
		Short: "List the keys and their values",
		Args:  cli.Arguments(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			st, err := load.OwnState(env, args[0])
			if err != nil {
				return err
			}
			if o.json {
				return show.JSON(env.Stdout, info.NewLedgerReport(args[0], st.Ledgers.Values))
			}
			return show.Lines(env.Stdout, show.ValueLines(&st.Ledgers), "The state of "+args[0]+" has no keys")
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object, with the time and the author of each value")
	return cmd
}

func newStateSetCommand(env *cli.Environment) *cobra.Command {
	o := stateOptions{report: ledger.Report{Type: ledger.TypeState}}
	cmd := &cobra.Command{
		Use:     "set PRD KEY VALUE",
		Short:   "Set a key",
		Example: `  runner state set PRD-009 migration/last 0042`,
		Args:    cli.Arguments(3, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.pipeline.PRD, o.report.Key, o.report.Value = args[0], args[1], args[2]
			return runStateChange(cmd.Context(), env, o, "state set")
		},
	}
	o.pipeline.AddFlags(cmd)
	return cmd
}

func newStateUnsetCommand(env *cli.Environment) *cobra.Command {
	o := stateOptions{report: ledger.Report{Type: ledger.TypeState, Unset: true}}
	return &cobra.Command{
		Use:   "unset PRD KEY",
		Short: "Remove a key",
		Args:  cli.Arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.pipeline.PRD, o.report.Key = args[0], args[1]
			return runStateChange(cmd.Context(), env, o, "state unset")
		},
	}
}

// runStateChange sets or removes a key: within a workstream of the session by a report to
// its owner, otherwise under the lock.
func runStateChange(ctx context.Context, env *cli.Environment, o stateOptions, what string) error {
	if env.Lookup(reportVariable) != "" && env.Lookup(prdVariable) == o.pipeline.PRD {
		return runReport(ctx, env, reportOptions{report: o.report})
	}
	if _, err := reportLine(o.report); err != nil {
		return err
	}
	return setState(ctx, env, o, what)
}

// setState changes a key of a session that nothing runs.
func setState(ctx context.Context, env *cli.Environment, o stateOptions, what string) error {
	prd := o.pipeline.PRD
	store, _, err := load.TrustedState(ctx, env, o.pipeline)
	if err != nil {
		return err
	}
	if err := maskValue(env, store, &o); err != nil {
		return err
	}
	record := checkpoint.AuditRecord{What: what, Args: []state.Text{state.Text(o.report.Key)}}
	t := &change.Target{Env: env, Store: store, PRD: prd}
	return t.Change(ctx, &record, func(session *checkpoint.Session) error {
		by := env.Actor()
		st := session.State()
		e := state.ReportsReceived{By: &by, Reports: []ledger.Report{o.report}}
		effect, err := st.Notes.Admission(st.Ledgers).Admit(o.report, e.Source(), env.Now())
		if err != nil {
			return &advice.UsageError{Err: err}
		}
		if effect != ledger.Unchanged {
			session.Add(e)
		}
		return session.Publish(ctx)
	})
}

// maskValue masks sensitive values in the value of a key, as maskFreeText does in texts.
func maskValue(env *cli.Environment, store *checkpoint.Store, o *stateOptions) error {
	if o.report.Unset {
		return nil
	}
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	masker, err := load.KnownSecrets(env, cfg, store, o.pipeline)
	if err != nil {
		return advice.Usagef("the value may contain a sensitive value, which must not be recorded: %w", err)
	}
	if masker != nil {
		o.report.Value = masker.String(string(o.report.Text()))
	}
	return nil
}
