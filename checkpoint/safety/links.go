package safety

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"prdrunner/checkpoint/braces"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/tree"
)

// LinkError says that a glob leads through a symbolic link. What is behind a link is not
// copied, since it may be outside of the workspace, or belong to something else in it. No
// checkpoint was made.
type LinkError struct{ Glob, Link string }

func (e *LinkError) Error() string {
	return fmt.Sprintf("%s leads through the symbolic link %s, and what is behind a link is not copied", e.Glob, e.Link)
}

// checkLinks returns a *LinkError if a pattern names a link as a directory. A link that a
// pattern itself names, or merely meets, is copied as the link that it is.
func checkLinks(w *workspace.Workspace, patterns []string) error {
	const most = 1000 // alternatives
	for _, pattern := range patterns {
		glob, _, _ := strings.Cut(pattern, tree.Except)
		if name, below := strings.CutSuffix(pattern, "/**"); below && slices.Contains(patterns, name) {
			continue // the second pattern of a glob that may name a file or a directory
		}
		alternatives, ok := braces.Expand(glob, most)
		if !ok {
			alternatives = []string{glob}
		}
		for _, alternative := range alternatives {
			if link := linkAbove(w, alternative); link != "" {
				return &LinkError{Glob: glob, Link: link}
			}
		}
	}
	return nil
}

// linkAbove returns the first link that a glob names as a directory; "" if there is none.
func linkAbove(w *workspace.Workspace, glob string) string {
	elements := strings.Split(glob, "/")
	for i := 1; i < len(elements) && !strings.ContainsAny(elements[i-1], `*?[{\`); i++ {
		dir := strings.Join(elements[:i], "/")
		if info, err := w.Tree().Lstat(dir); err == nil && info.Mode().Type() == fs.ModeSymlink {
			return dir
		}
	}
	return ""
}
