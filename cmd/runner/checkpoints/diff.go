package checkpoints

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint/compare"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner/view"
)

type diffOptions struct {
	prd   string
	from  string
	to    string
	files bool
	paths []string
	stat  bool
	json  bool
}

func newDiffCommand(env *cli.Environment) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff PRD FROM [TO] [-- PATH...]",
		Short: "Compare two checkpoints",
		Long: `Show the differences between two checkpoints, or between a checkpoint and the
current state of the session: state, steps, metrics, outputs, files, commits.
TO can be "workspace", which means the files as they are at this moment. --files
shows the changes in the files; paths after -- limit it to these.`,
		Example: `  runner checkpoint diff PRD-009 latest~1
  runner checkpoint diff PRD-009 latest workspace --files -- gen/`,
		Args: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				args = args[:at]
			}
			return cli.Arguments(2, 3)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				args, o.paths = args[:at], args[at:]
			}
			o.prd, o.from = args[0], args[1]
			if len(args) > 2 {
				o.to = args[2]
			}
			return runDiff(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.files, "files", false, "show what changed in the files")
	flags.BoolVar(&o.stat, "stat", false, "show only how much changed")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("files", "stat")
	return cmd
}

func runDiff(ctx context.Context, env *cli.Environment, o diffOptions) error {
	if err := checkPaths(o.paths); err != nil {
		return err
	}
	store, st, err := load.NamedOrOnlyState(env, o.prd)
	if err != nil {
		return err
	}
	return load.WithWorkspace(ctx, env, store, func(_ *config.Config, w *workspace.Workspace) error {
		c, err := compare.Points(ctx, store, w, st.PRD, compare.Options{
			From: o.from, To: o.to, Now: env.Now(), Lines: true, Texts: o.files || len(o.paths) > 0, Wanted: namedPaths(o.paths),
		})
		if advice.IsA[*state.DamagedError](err) {
			return advice.With(err, "`runner checkpoint validate "+o.prd+"` names the valid ones")
		}
		if err != nil {
			return advice.Archived(env.CommandLine, store, st.PRD, advice.UnknownReference(o.prd, err))
		}
		warnAbsent(env, c, o.paths)
		if o.json {
			return show.JSON(env.Stdout, info.NewDiffReport(c))
		}
		return show.Diff(env.Stdout, c, o.stat)
	})
}

// checkPaths refuses paths that can't be in the workspace.
func checkPaths(paths []string) error {
	for _, p := range paths {
		if !filepath.IsLocal(filepath.FromSlash(p)) {
			return advice.With(advice.Usagef("%s is not in the workspace", view.OneLine(p)), "paths are relative to it, as those that `runner checkpoint diff` prints")
		}
	}
	return nil
}

// warnAbsent warns of paths at which neither side has a file.
func warnAbsent(env *cli.Environment, c *compare.Comparison, paths []string) {
	for _, p := range paths {
		if !c.Has(namedPaths([]string{p})) {
			fmt.Fprintf(env.Stderr, "Warning: neither side has a file %s\n", view.OneLine(p))
		}
	}
}

// namedPaths returns a function that reports whether a path is one of the given paths, or
// below one. Without paths it returns nil, which chooses all files.
func namedPaths(paths []string) func(string) bool {
	if len(paths) == 0 {
		return nil
	}
	return func(file string) bool {
		for _, p := range paths {
			p = path.Clean(p)
			if p == "." || file == p || strings.HasPrefix(file, p+"/") {
				return true
			}
		}
		return false
	}
}
