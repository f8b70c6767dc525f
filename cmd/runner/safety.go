package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	saved "prdrunner/checkpoint/safety"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/safety"
	"prdrunner/cmd/runner/words"
)

// newSafetyCommand returns the group of commands about safety checkpoints.
func newSafetyCommand(env *cli.Environment) *cobra.Command {
	cmd := cli.NewGroup("safety", "Copy files, keys and databases before they change, and restore them",
		newSafetyCreateCommand(env),
		newSafetyListCommand(env),
		newSafetyShowCommand(env),
		newSafetyVerifyCommand(env),
		newSafetyRestoreCommand(env),
		newSafetyDeleteCommand(env),
		newSafetyPruneCommand(env),
	)
	cmd.Long = `Copy named files, keys of a session's state, or databases, before something changes
them, and restore them afterwards. A safety checkpoint belongs to no session: it can
be made and restored in any workspace.

A database is named by a savepoint block of a pipeline. The commands read the
pipeline only if a database is involved; -f and --var name it as for runner build.

CHECKPOINT is an ID such as chk_20260115_143022_a7b3c9, a unique beginning of one, or
"latest" for the newest one that was not made to undo a restore.`
	return cmd
}

// formatFlags are the flags --json and --yaml.
type formatFlags struct{ json, yaml bool }

// add adds --json and, if what is printed has a YAML form, --yaml.
func (f *formatFlags) add(flags *pflag.FlagSet, withYAML bool) {
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	if withYAML {
		flags.BoolVar(&f.yaml, "yaml", false, "print the same as YAML")
	}
}

func (f *formatFlags) format() safety.Format {
	switch {
	case f.json:
		return safety.JSON
	case f.yaml:
		return safety.YAML
	}
	return safety.Text
}

// addPRDFlag adds --prd to a command that works on a state directory.
func addPRDFlag(flags *pflag.FlagSet, prd *string, usage string) {
	flags.StringVar(prd, "prd", "", usage)
}

// addPipelineFlags adds the flags to a command that may need the databases of a safety
// checkpoint.
func addPipelineFlags(cmd *cobra.Command, ref *load.PipelineRef) {
	addPRDFlag(cmd.Flags(), &ref.PRD, statePRD)
	ref.AddFlags(cmd)
}

const statePRD = "use the state directory of `PRD`, if each PRD has one of its own"

func newSafetyCreateCommand(env *cli.Environment) *cobra.Command {
	var o safety.CreateOptions
	var f formatFlags
	cmd := &cobra.Command{
		Use:   "create [GLOB...]",
		Short: "Make a safety checkpoint",
		Long: `Copy the files that match globs, keys of a session's state, or databases, and verify
the copy. A restore takes them back to what they are now, and removes the files that
match the globs and were created since.

A git_stash holds the files as a commit in the form of git stash, with what is
staged; it changes neither the work tree nor the index nor the list of stashes. A
file_backup holds them in the state directory. Without --type it is a git_stash if
git tracks one of the files, and nothing is in the way of that.

A database is copied as its savepoint block says: as a dump in the state directory,
or as a second database on its server. A checkpoint of databases without files is a
database_savepoint.

A symbolic link is copied as a link, without what is behind it.

Files that look sensitive, by their names or because they hold a private key or an
access token, are left out with a warning.`,
		Example: `  runner safety create --scope 'config/**' --reason "before the migration" --expiry 24h
  runner safety create --state migration/last --prd PRD-009
  runner safety create --savepoint orders --prd PRD-009 --expiry 24h`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Scope, o.Format = append(o.Scope, args...), f.format()
			return safety.Create(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&o.Scope, "scope", nil, "copy the files that match `GLOB`; ! in front excludes files from the globs before it")
	flags.StringArrayVar(&o.Keys, "state", nil, "copy `KEY` of a session's state")
	flags.StringArrayVar(&o.Savepoints, "savepoint", nil, "copy the database of the savepoint block `NAME`")
	addPRDFlag(flags, &o.Pipeline.PRD, "the keys and savepoints are those of `PRD` (default: the only one that has a session; for savepoints, the only pipeline)")
	o.Pipeline.AddFlags(cmd)
	flags.StringVarP(&o.Reason, "reason", "m", "", "record `TEXT` as the reason")
	types := make([]string, 0, len(saved.Types()))
	for _, t := range saved.Types() {
		types = append(types, string(t))
	}
	flags.Var(cli.NewEnum(&o.Type, types...), "type", "how files are kept: "+words.OneOf(types))
	flags.StringVar(&o.Expiry, "expiry", "", "keep it for `TIME`, such as 24h, or never remove it by itself (never; the default unless safety.expiry is set)")
	flags.BoolVar(&o.Strict, "strict", false, "make no checkpoint if a file looks sensitive")
	flags.BoolVar(&o.Sensitive, "include-sensitive", false, "copy sensitive files, too; the audit log records that")
	f.add(flags, true)
	cmd.MarkFlagsMutuallyExclusive("strict", "include-sensitive")
	cmd.MarkFlagsMutuallyExclusive("json", "yaml")
	return cmd
}

func newSafetyListCommand(env *cli.Environment) *cobra.Command {
	var prd string
	var f formatFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the safety checkpoints",
		Args:  cli.Arguments(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return safety.List(cmd.Context(), env, prd, f.format()) },
	}
	addPRDFlag(cmd.Flags(), &prd, statePRD)
	f.add(cmd.Flags(), false)
	return cmd
}

func newSafetyShowCommand(env *cli.Environment) *cobra.Command {
	var prd string
	var f formatFlags
	cmd := &cobra.Command{
		Use:   "show CHECKPOINT",
		Short: "Show what a safety checkpoint holds",
		Args:  cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return safety.Show(cmd.Context(), env, prd, args[0], f.format())
		},
	}
	addPRDFlag(cmd.Flags(), &prd, statePRD)
	f.add(cmd.Flags(), true)
	cmd.MarkFlagsMutuallyExclusive("json", "yaml")
	return cmd
}

func newSafetyVerifyCommand(env *cli.Environment) *cobra.Command {
	var ref load.PipelineRef
	var f formatFlags
	cmd := &cobra.Command{
		Use:   "verify CHECKPOINT",
		Short: "Check whether a safety checkpoint can be restored",
		Long: `Read everything that a safety checkpoint holds, and compare it with the recorded
hashes, and look for the references that keep its commits in git, and for the copies
of databases on their servers. If something is lost or damaged, the command exits 5.`,
		Args: cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return safety.Verify(cmd.Context(), env, ref, args[0], f.format())
		},
	}
	addPipelineFlags(cmd, &ref)
	f.add(cmd.Flags(), false)
	return cmd
}

func newSafetyRestoreCommand(env *cli.Environment) *cobra.Command {
	var o safety.RestoreOptions
	var f formatFlags
	cmd := &cobra.Command{
		Use:   "restore CHECKPOINT",
		Short: "Restore a safety checkpoint",
		Long: `Take the files, keys and databases of a safety checkpoint back to what they were, and
remove the files in its scope that were created since. The command shows what
changes, asks, and first makes another safety checkpoint of what it changes;
restoring that one undoes the restore.

The copy of a database is loaded beside it and checked, and then takes its place.
Databases come first, then keys, files and git's index.

It refuses to overwrite newer work: what was committed since the checkpoint was
made, and what was changed after it was restored before. --force overwrites it.

After an interruption, the same command completes the restore; restoring the
checkpoint that was made before it gives the restore up. Both refuse to overwrite
what was edited in between.`,
		Example: `  runner safety restore latest --dry-run
  runner safety restore chk_20260115_143022_a7b3c9 --yes`,
		Args: cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name, o.Format = args[0], f.format()
			return safety.Restore(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.DryRun, "dry-run", false, "show what would be done, and change nothing; if the restore would be refused, exit with its exit code")
	flags.BoolVar(&o.Manual, "manual", false, "print shell commands that restore the files, and change nothing")
	flags.BoolVar(&o.Force, "force", false, "overwrite newer work, and files that cannot be copied first")
	flags.BoolVar(&o.NoUndo, "no-undo", false, "do not copy what is overwritten or removed")
	flags.StringVarP(&o.Reason, "reason", "m", "", "record `TEXT` as the reason")
	flags.BoolVar(&o.Yes, "yes", false, "do not ask")
	addPipelineFlags(cmd, &o.Pipeline)
	f.add(flags, false)
	cmd.MarkFlagsMutuallyExclusive("dry-run", "manual")
	cmd.MarkFlagsMutuallyExclusive("manual", "json")
	return cmd
}

func newSafetyDeleteCommand(env *cli.Environment) *cobra.Command {
	var o safety.RemoveOptions
	cmd := &cobra.Command{
		Use:   "delete CHECKPOINT...",
		Short: "Remove safety checkpoints",
		Long: `Remove safety checkpoints, expired or not, with their copies of databases on
servers. "runner checkpoint prune" then removes the bytes that nothing else needs.

If a server cannot be reached, its checkpoints stay. One that a protected workstream
may have to be rolled back to is not removed. With --force it is, and what the
workstream changed stays.`,
		Args: cli.Arguments(1, 1000),
	}
	cmd.Flags().BoolVar(&o.Force, "force", false, "remove even those that a workstream may have to be rolled back to")
	addRemoveFlags(cmd, env, &o, safety.Delete)
	return cmd
}

func newSafetyPruneCommand(env *cli.Environment) *cobra.Command {
	var o safety.RemoveOptions
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove the safety checkpoints that have expired",
		Long: `Remove the safety checkpoints that have expired, and what interrupted commands
left. A checkpoint without an expiry is never removed by itself.`,
		Args: cli.Arguments(0, 0),
	}
	addRemoveFlags(cmd, env, &o, safety.Prune)
	return cmd
}

// addRemoveFlags adds the flags and the code of a command that removes safety checkpoints.
func addRemoveFlags(cmd *cobra.Command, env *cli.Environment, o *safety.RemoveOptions, remove func(context.Context, *cli.Environment, safety.RemoveOptions) error) {
	var f formatFlags
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.DryRun, "dry-run", false, "show what would be removed, and change nothing")
	flags.StringVarP(&o.Reason, "reason", "m", "", "record `TEXT` as the reason")
	flags.BoolVar(&o.Yes, "yes", false, "do not ask")
	addPipelineFlags(cmd, &o.Pipeline)
	f.add(flags, false)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.Names, o.Format = args, f.format()
		return remove(cmd.Context(), env, *o)
	}
}
