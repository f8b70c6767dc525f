// Package checkpoints is the commands `runner checkpoint …`, a file each. [NewCommand]
// returns the group; begin there. [RollBack] is what `runner checkpoint rollback` and
// `runner build --resume=CHECKPOINT` share.
//
// What reads a command line, asks the user, records in the audit log and shows the answer
// belongs here. What is done with checkpoints does not: prdrunner/checkpoint and the
// packages below it do that, and exchange carries out `export` and `import` with --format.
package checkpoints

import (
	"errors"

	"github.com/spf13/cobra"

	"prdrunner/cmd/runner/cli"
)

// ErrDamageShown reports damage that the command has already shown.
var ErrDamageShown = errors.New("something is damaged")

// NewCommand returns the group of commands about checkpoints.
func NewCommand(env *cli.Environment) *cobra.Command {
	cmd := cli.NewGroup("checkpoint", "List, compare, restore and maintain checkpoints",
		newListCommand(env),
		newShowCommand(env),
		newDiffCommand(env),
		newValidateCommand(env),
		newRebuildCommand(env),
		newCreateCommand(env),
		newRollbackCommand(env),
		newPinCommand(env),
		newUnpinCommand(env),
		newExportCommand(env),
		newImportCommand(env),
		newMigrateCommand(env),
		newPruneCommand(env),
		newDeleteCommand(env),
		newArchiveCommand(env),
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
