package main

import "github.com/spf13/cobra"

// newCheckpointCommand makes the group of commands about checkpoints.
func newCheckpointCommand(env *environment) *cobra.Command {
	cmd := newGroupCommand("checkpoint", "Look at checkpoints, go back to them, and keep order among them",
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
	cmd.Long = `Look at checkpoints, go back to them, and keep order among them.

CHECKPOINT is the id of one, the beginning of its id, latest, latest~N for the
N-th valid one before that, or the number of a step, which stands for the moment
when that step completed with its gates, 0 for the start. "runner checkpoint
list" shows these names.`
	return cmd
}
