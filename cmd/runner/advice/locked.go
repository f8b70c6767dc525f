package advice

import (
	"errors"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
)

// LockedBy returns the error of a session that the holder has locked, with its hint.
func LockedBy(prd string, holder disk.Holder) error {
	return Locked(prd, &checkpoint.LockedError{PRD: prd, Holder: holder})
}

// Locked adds to the error of a session that another process has locked the command that
// shows the work of that process.
func Locked(prd string, err error) error {
	var locked *checkpoint.LockedError
	if !errors.As(err, &locked) {
		return err
	}
	if prd == "" {
		prd = locked.PRD
	}
	if locked.PRD == "" { // the process that holds the lock on the state directory works on another PRD
		return With(err, "`runner status` shows what is running in it; when that has ended, run the command again")
	}
	if locked.Stopped || locked.Holder.IsStopped() {
		return With(err, fmt.Sprintf("`kill -CONT %d` lets it continue; then run the command again", locked.Holder.PID))
	}
	return With(err, fmt.Sprintf("`runner status %[1]s` shows its state, `runner logs %[1]s -f` its output", prd))
}
