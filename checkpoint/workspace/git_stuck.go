package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Git opens every .gitignore that it comes by, and of a named pipe it waits for
// the writer, for good and without a word.

// stuckAfter is how long git may take before it is looked whether that is why.
// To look costs as much as to list the files does.
const stuckAfter = 2 * time.Second

// captureUnstuck is capture of a command that reads .gitignore files. One that is
// a pipe ends it: *GitStateError.
func (g *Git) captureUnstuck(ctx context.Context, c Command) ([]byte, error) {
	running, end := context.WithCancelCause(ctx)
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		select {
		case <-running.Done():
		case <-time.After(stuckAfter):
			if pipe := g.findPipe(running); pipe != "" {
				end(&GitStateError{
					Detail: fmt.Sprintf("%s is a named pipe, which git would wait for", pipe),
					Remedy: "remove it",
				})
			}
		}
	}()
	out, err := g.capture(running, nil, c)
	end(nil)
	<-looked
	var stuck *GitStateError
	if err != nil && errors.As(context.Cause(running), &stuck) {
		err = stuck
	}
	return out, err
}

// findPipe returns a .gitignore that is a named pipe, in the directory, below
// it or above it in the work tree; "" for none.
func (g *Git) findPipe(ctx context.Context) string {
	isPipe := func(dir string) bool {
		info, err := os.Lstat(filepath.Join(dir, ".gitignore"))
		return err == nil && info.Mode()&fs.ModeNamedPipe != 0
	}
	dir := g.dir
	for range strings.Count(g.prefix, "/") {
		dir = filepath.Dir(dir)
		if isPipe(dir) {
			return filepath.Join(dir, ".gitignore")
		}
	}
	found := ""
	// What can't be read is no pipe that git waits for.
	_ = fs.WalkDir(os.DirFS(g.dir), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fs.SkipAll
		case err != nil && entry != nil && entry.IsDir(), err == nil && entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case err == nil && entry.IsDir() && isPipe(filepath.Join(g.dir, filepath.FromSlash(name))):
			found = path.Join(name, ".gitignore")
			return fs.SkipAll
		}
		return nil
	})
	return found
}
