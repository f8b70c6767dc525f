package advice

import (
	"fmt"

	"prdrunner/checkpoint/safety"
)

// UnfinishedRestore returns what to type after the restore of a safety checkpoint was
// interrupted.
func UnfinishedRestore(half safety.Interrupted) string {
	hint := fmt.Sprintf("`runner safety restore %s --yes` completes it", half.ID)
	if half.Undo != "" {
		hint += fmt.Sprintf("; `runner safety restore %s --yes` gives it up, and takes things back to before it", half.Undo)
	}
	return hint
}
