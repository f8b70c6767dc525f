package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/text"
)

type resolveOptions struct {
	prd        string
	workstream string
	done       bool
	rerun      bool
	message    string
}

func newResolveCommand(env *environment) *cobra.Command {
	var o resolveOptions
	cmd := &cobra.Command{
		Use:   "resolve PRD WORKSTREAM {--done|--rerun}",
		Short: "Say whether an uncertain workstream happened",
		Long: `Resolve decides a workstream with effect = "once" whose end nobody knows: it is
never run again by itself. Look for yourself whether it happened, then say so.`,
		Example: `  runner resolve PRD-009 WS3 --done -m "the mail went out"`,
		Args:    arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd, o.workstream = args[0], args[1]
			return runResolve(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.done, "done", false, "it happened: go on after it")
	flags.BoolVar(&o.rerun, "rerun", false, "it did not happen: run it again")
	flags.StringVarP(&o.message, "message", "m", "", "record `TEXT` with the decision")
	cmd.MarkFlagsMutuallyExclusive("done", "rerun")
	cmd.MarkFlagsOneRequired("done", "rerun")
	return cmd
}

func runResolve(ctx context.Context, env *environment, o resolveOptions) error {
	store, st, err := loadState(env, o.prd)
	if err != nil {
		return err
	}
	st = stateFinished(ctx, store, st)
	if err := checkUncertain(st, o.workstream); err != nil {
		return err
	}
	resolution := checkpoint.ResolvedDone
	if o.rerun {
		resolution = checkpoint.ResolvedRerun
	}
	request := checkpoint.Request{
		PRD: o.prd, Verb: checkpoint.VerbResolve, Workstream: o.workstream, Resolution: resolution,
		Comment: checkpoint.Text(o.message), By: env.actor(), At: env.now(),
	}
	alone := false
	err = ask(ctx, env, store, request, func(session *checkpoint.Session, _ *finished) error {
		alone = true
		return recordResolution(ctx, session, request)
	})
	if err != nil {
		return fmt.Errorf("resolve %s: %w", o.workstream, err)
	}
	fmt.Fprintf(env.stdout, "Resolved %s of %s as %s\n", o.workstream, o.prd, resolution)
	if alone {
		fmt.Fprintf(env.stdout, "Next: %s\n", env.command("build "+o.prd+" --resume"))
	}
	return nil
}

// checkUncertain refuses workstreams about which there is nothing to decide.
func checkUncertain(st *checkpoint.State, name string) error {
	w := st.Workstream(name)
	if w == nil {
		var names []string
		for _, p := range st.Phases {
			for _, w := range p.Workstreams {
				names = append(names, w.Name)
			}
		}
		err := usageErrorf("there is no workstream %q in %s", name, st.PRD)
		if near := nearest(name, names); near != "" {
			return withHint(err, fmt.Sprintf("did you mean %s?", near))
		}
		return err
	}
	if w.Status != checkpoint.Uncertain {
		return withHint(usageErrorf("%s is not uncertain: it is %s", name, w.Status),
			fmt.Sprintf("`runner build %s --resume --invalidate %s` runs it again", st.PRD, text.ShellWord(name)))
	}
	return nil
}

func recordResolution(ctx context.Context, session *checkpoint.Session, r checkpoint.Request) error {
	st := session.State()
	if st == nil {
		return fmt.Errorf("its session is gone: %w", checkpoint.ErrNoSession)
	}
	if err := checkUncertain(st, r.Workstream); err != nil {
		return err
	}
	session.Add(checkpoint.WorkstreamResolved{Workstream: r.Workstream, Resolution: r.Resolution, By: r.By, Reason: r.Comment})
	return session.Publish(ctx)
}
