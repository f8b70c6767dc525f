package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// UnseenError says that a process of another user has a log of the session open: a step
// started it through sudo or another program that changes the user. Runner may not examine
// it.
type UnseenError struct{ Log string }

func (e *UnseenError) Error() string {
	return fmt.Sprintf("a process of another user, which can't be looked at or ended from here, still has %s open as its output; end it first (`sudo fuser -v %s` names it)", e.Log, e.Log)
}

// checkUnseen returns an *UnseenError if a process that Recover did not find has a log in
// the directory open.
func checkUnseen(logs string) error {
	entries, err := os.ReadDir(logs)
	if err != nil {
		return nil //nolint:nilerr // without the directory no process writes to a log
	}
	for _, e := range entries {
		if path := filepath.Join(logs, e.Name()); e.Type().IsRegular() && strings.HasSuffix(path, ".log") && isHeld(path) {
			return &UnseenError{Log: path}
		}
	}
	return nil
}
