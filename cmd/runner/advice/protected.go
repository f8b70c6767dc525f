package advice

import (
	"errors"
	"fmt"

	"prdrunner/checkpoint/safety"
	"prdrunner/runner/protect"
)

// Protected adds to the error of a rollback of a protected workstream what to type next.
func Protected(prd string, err error) error {
	var unfinished *protect.UnfinishedError
	if !errors.As(err, &unfinished) {
		return err
	}
	giveUp := fmt.Sprintf("`runner safety delete %s --force` gives the rollback up, and leaves everything as it is", unfinished.Checkpoint)
	if IsA[*safety.NotFoundError](err) {
		return With(err, giveUp)
	}
	return With(err, fmt.Sprintf("`runner safety restore %s --dry-run` shows what is in the way, and `runner build %s --resume` tries again; %s", unfinished.Checkpoint, prd, giveUp))
}
