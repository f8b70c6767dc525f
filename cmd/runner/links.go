package main

import (
	"context"

	"prdrunner/checkpoint/workspace"
)

// workspaceLinks tells where the symbolic links of a workspace lead. It implements
// pipeline.Links. What can't be looked at leads nowhere: whoever reads the files says so.
type workspaceLinks struct{ dir string }

// Behind implements pipeline.Links.
func (l workspaceLinks) Behind(pattern string) []string {
	files, err := workspace.Open(workspace.Options{Dir: l.dir})
	if err != nil {
		return nil
	}
	defer func() { _ = files.Close() }() // it was only looked at
	m, err := files.Match(context.Background(), []string{pattern}, nil)
	if err != nil {
		return nil
	}
	return m.Behind
}

// Target implements pipeline.Links.
func (l workspaceLinks) Target(path string) string {
	files, err := workspace.Open(workspace.Options{Dir: l.dir})
	if err != nil {
		return path
	}
	defer func() { _ = files.Close() }() // it was only looked at
	return files.Target(path)
}
