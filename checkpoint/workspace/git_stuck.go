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

// Git opens every .gitignore that it comes by. Of a named pipe it waits for the
// writer, for good and without a word, and an endless one takes its memory.

// stuckAfter is how long git may take before it is looked whether that is why.
// To look costs as much as to list the files does.
const stuckAfter = 2 * time.Second

// maxRules is how long a .gitignore can be before it may be what git failed of.
const maxRules = 100 << 20

// unstuck runs a command that reads .gitignore files. One that is a pipe ends it, and
// one that is too long explains why it failed: *GitStateError.
func (g *Git) unstuck(ctx context.Context, run func(ctx context.Context) error) error {
	running, end := context.WithCancelCause(ctx)
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		select {
		case <-running.Done():
		case <-time.After(stuckAfter):
			if pipe := g.findRules(running, func(info fs.FileInfo) bool { return info.Mode()&fs.ModeNamedPipe != 0 }); pipe != "" {
				end(&GitStateError{
					Detail: fmt.Sprintf("%s is a named pipe, which git would wait for", pipe),
					Remedy: "remove it",
				})
			}
		}
	}()
	err := run(running)
	end(nil)
	<-looked
	var stuck *GitStateError
	if err != nil && errors.As(context.Cause(running), &stuck) {
		return stuck
	}
	if err != nil {
		if long := g.findRules(ctx, func(info fs.FileInfo) bool { return info.Size() > maxRules }); long != "" {
			err = &GitStateError{
				Detail: fmt.Sprintf("%s is longer than %d MiB, and git reads it whole: %v", long, maxRules>>20, err),
				Remedy: "remove it",
			}
		}
	}
	return err
}

// findRules returns a .gitignore that is odd, in the directory, below it or
// above it in the work tree; "" for none.
func (g *Git) findRules(ctx context.Context, odd func(info fs.FileInfo) bool) string {
	has := func(dir string) bool {
		info, err := os.Lstat(filepath.Join(dir, ".gitignore"))
		return err == nil && odd(info)
	}
	dir := g.dir
	for range strings.Count(g.prefix, "/") {
		dir = filepath.Dir(dir)
		if has(dir) {
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
		case err == nil && entry.IsDir() && has(filepath.Join(g.dir, filepath.FromSlash(name))):
			found = path.Join(name, ".gitignore")
			return fs.SkipAll
		}
		return nil
	})
	return found
}
