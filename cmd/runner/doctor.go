package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/doctor"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
)

type doctorOptions struct {
	prd  string
	json bool
}

func newDoctorCommand(env *cli.Environment) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [PRD]",
		Short: "Check this machine and workspace, and say what to do",
		Long: `Check whether Runner can work on this machine and in this workspace, and what an
earlier run has left: git, the configuration, disks and file systems, the terminal,
processes, locks, the clock, and each session. Each warning and problem says what to
do about it.

Doctor repairs nothing, and takes no lock that another command waits for. It tries the
file system in a directory of its own, which it removes: in the state directory, once
there is one. If there is a problem, it exits with 5, or with 2 if the configuration is
the only one. If each PRD has a state directory of its own, name the PRD.`,
		Args: cli.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = cli.FirstArgument(args)
			return runDoctor(cmd.Context(), env, o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runDoctor(ctx context.Context, env *cli.Environment, o doctorOptions) error {
	findings, err := doctor.Examine(ctx, env, o.prd)
	if err != nil {
		return err
	}
	if o.json {
		err = show.JSON(env.Stdout, info.NewDoctorReport(findings))
	} else {
		err = show.Doctor(env.Stdout, findings)
	}
	return errors.Join(err, doctor.ErrorOf(findings))
}
