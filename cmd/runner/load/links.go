package load

import (
	"context"

	"prdrunner/checkpoint/workspace"
)

// workspaceLinks resolves the symbolic links of a workspace. It implements files.Links.
// It does not resolve a link that it can't read: the code that reads the files reports the
// error.
type workspaceLinks struct{ dir string }

// Behind implements files.Links.
func (l workspaceLinks) Behind(pattern string) []string {
	files, err := workspace.Open(workspace.Options{Dir: l.dir})
	if err != nil {
		return nil
	}
	defer func() { _ = files.Close() }() // nothing was written through it
	m, err := files.Tree().Match(context.Background(), []string{pattern}, nil)
	if err != nil {
		return nil
	}
	return m.AddedPatterns
}

// Target implements files.Links.
func (l workspaceLinks) Target(path string) string {
	files, err := workspace.Open(workspace.Options{Dir: l.dir})
	if err != nil {
		return path
	}
	defer func() { _ = files.Close() }() // nothing was written through it
	return files.Tree().Target(path)
}
