// Package gittest runs git for tests. Only tests import it. Commander runs commands as the
// supervised Commander of package process does, as far as package git can tell.
package gittest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/workspace/git"
)

// Commander runs commands without supervision. They do not read the configuration of the
// user and of the system.
type Commander struct{}

// Run implements git.Commander.
func (Commander) Run(ctx context.Context, c git.Command) error {
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout = c.Dir, c.Stdin, c.Stdout
	for _, entry := range append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1") {
		if name, _, _ := strings.Cut(entry, "="); !slices.Contains(c.Unset, name) {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, c.Env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &git.ExitError{Args: c.Args, Code: exit.ExitCode(), Stderr: stderr.String()}
	}
	return err
}
