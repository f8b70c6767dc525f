package workspace

import (
	"context"
	"io"
)

// Commander starts programs for this package.
type Commander interface {
	// Run runs a command to its end. That it ended with another exit code than
	// 0 is an *ExitError.
	Run(ctx context.Context, c Command) error
}

// Command is a program to run: no shell.
type Command struct {
	Args   []string // the program first
	Dir    string
	Env    []string // added to the environment
	Stdin  io.Reader
	Stdout io.Writer
}

// ExitError says that a program ran and failed.
type ExitError struct {
	Args   []string
	Code   int
	Stderr string // its end
}

func (e *ExitError) Error() string { return "" }

// Git is a git work tree, or a directory in one.
type Git struct{}

// OpenGit returns the work tree that a directory lies in: nil where there is
// none, or no git program.
func OpenGit(ctx context.Context, c Commander, dir string) (*Git, error) { return nil, nil }

// Head is where HEAD stands: branch is "" when it is detached, commit "" on an
// unborn branch.
func (g *Git) Head(ctx context.Context) (branch, commit string, err error) { return "", "", nil }
