package main

import "github.com/spf13/cobra"

// newCheckpointCommand makes the group of commands about checkpoints.
func newCheckpointCommand(env *environment) *cobra.Command {
	return newGroupCommand("checkpoint", "Look at checkpoints, go back to them, and keep order among them",
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
}
