package git

import (
	"errors"
	"fmt"
	"strings"

	"prdrunner/checkpoint/text"
)

// A git command that is killed, or whose machine loses its power, leaves its
// locks behind for good: files that bear no name. Nothing tells such a one
// from that of a command which is at work, for another user, in another
// container or on another machine that shares the directory, and to take that
// one away ruins what it guards. So none is removed here: people know.

// explainLock says which lock is in the way of a git command, where an error
// tells of one, and what a person can do about it.
func explainLock(err error) error {
	var exit *ExitError
	if !errors.As(err, &exit) {
		return err
	}
	_, rest, begins := strings.Cut(exit.Stderr, "Unable to create '")
	lock, _, ends := strings.Cut(rest, ".lock': File exists")
	if !begins || !ends {
		return err
	}
	lock += ".lock"
	return &StateError{
		Detail: fmt.Sprintf("git's lock %s is there: another git command is at work, or was killed", lock),
		Remedy: "wait for that command to end; where no git is at work: rm " + text.ShellWord(lock),
	}
}
