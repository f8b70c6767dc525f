// Package files holds the functions of the language that read the workspace: file, fileset,
// templatefile and others. Workspace is where to begin: Functions returns them for one
// evaluation, and FindSources and ReadSource find the files of a pipeline itself. All follow
// links only inside the workspace.
//
// Which workstream makes a file, and whether it may be read yet, package pipeline decides: it
// implements Reads. Functions that read no files are in package functions.
package files

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"
)

// Workspace gives access to the files of a workspace. It caches the results of functions, so
// that a pipeline means the same however often it is evaluated. It is safe for concurrent use
// and must not be copied.
type Workspace struct {
	Dir     string                 // "": reading files fails
	Hidden  func(path string) bool // paths that fileset leaves out; nil: none
	Links   Links                  // nil: the workspace has no links
	Earlier Contents               // earlier contents, read instead of the present ones

	cache sync.Map // Call → cty.Value, or the text of a template
}

// Contents are earlier contents of files of the workspace, by path. A value opens the file;
// nil means that the file did not exist.
type Contents map[string]func() (io.ReadCloser, error)

// Links resolves symbolic links inside the workspace, as they are at the time of the
// call.
type Links interface {
	// Behind returns the patterns for the files that a pattern matches through links.
	// Patterns have the form that glob.Patterns returns.
	Behind(pattern string) []string
	// Target returns a path without links to the same file. If the file is outside the
	// workspace, it returns the path unchanged.
	Target(path string) string
}

// Call is one call of a function that reads files.
type Call struct {
	Function string
	Path     string
	Glob     string // of fileset: relative to the path
}

// String returns the call as an author would write it.
func (c Call) String() string {
	args := []string{fmt.Sprintf("%q", c.Path)}
	if c.Function == "fileset" {
		args = append(args, fmt.Sprintf("%q", c.Glob))
	}
	return c.Function + "(" + strings.Join(args, ", ") + ")"
}

// Reads decides which files the calls of one evaluation may read, and records the calls.
type Reads interface {
	// Check reports whether a call reads an artifact of a workstream, and whether the file
	// can be read now. If not, the value of the call is unknown.
	Check(call Call) (made, there bool)
	// Record takes the value of a call, or the error with which it failed.
	Record(call Call, value cty.Value, err error)
	// Restored returns the artifacts that Runner will restore before anything runs.
	Restored() Contents
}

// unrecorded lets each call read, and records none.
type unrecorded struct{}

func (unrecorded) Check(Call) (made, there bool) { return false, true }
func (unrecorded) Record(Call, cty.Value, error) {}
func (unrecorded) Restored() Contents            { return nil }
