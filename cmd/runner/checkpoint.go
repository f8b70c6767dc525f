package main

import (
	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/cli"
)

// newCheckpointCommand returns the group of commands about checkpoints.
func newCheckpointCommand(env *cli.Environment) *cobra.Command {
	cmd := newGroupCommand("checkpoint", "List, compare, restore and maintain checkpoints",
		newCheckpointListCommand(env),
		newCheckpointShowCommand(env),
		newCheckpointDiffCommand(env),
		newCheckpointValidateCommand(env),
		newCheckpointRebuildCommand(env),
		newCheckpointCreateCommand(env),
		newCheckpointRollbackCommand(env),
		newCheckpointPinCommand(env),
		newCheckpointUnpinCommand(env),
		newCheckpointExportCommand(env),
		newCheckpointImportCommand(env),
		newCheckpointMigrateCommand(env),
		newCheckpointPruneCommand(env),
		newCheckpointDeleteCommand(env),
		newCheckpointArchiveCommand(env),
	)
	cmd.Long = `List, compare, restore and maintain checkpoints.

CHECKPOINT is one of:
  - the id of a checkpoint, or the beginning of its id
  - latest, or latest~N for the N-th valid checkpoint before it
  - the number of a step: the moment when that step completed with its gates;
    0 is the start
"runner checkpoint list" shows these names.`
	return cmd
}
