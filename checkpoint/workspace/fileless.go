package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// fileless are directories in which there is no file that git knows.
type fileless struct {
	outermost []string // of those that it knows nothing of: what is empty is among them, or below one
	emptied   []string // those that nothing is in, and that it knows files of
	denied    []string // those that it knows files of, and that may not be read
}

// fileless finds directories in which there is no file that git knows, of which the
// files are sorted by path. Only names are read, so that it costs much less than to let git look through the
// work tree once more.
func (w *Workspace) fileless(ctx context.Context, files []GitFile) (found fileless, err error) {
	dirs := map[string]bool{"": true}
	for _, f := range files {
		for dir := range parents(f.Path) {
			if dirs[dir] {
				break
			}
			dirs[dir] = true
		}
	}
	known := func(dir string) bool {
		_, listed := slices.BinarySearchFunc(files, dir, compareFile)
		return dirs[dir] || listed || w.excluded(dir)
	}
	c := cursor{base: w.root}
	defer c.close()
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if err := ctx.Err(); err != nil {
			return fileless{}, err
		}
		children, err := w.children(&c, dir)
		switch {
		case err == nil && len(children) == 0 && dir != "":
			found.emptied = append(found.emptied, dir)
		case err == nil, absent(err):
			for _, child := range children {
				if subdir, isDir := strings.CutSuffix(child, "/"); isDir && !known(subdir) {
					found.outermost = append(found.outermost, subdir)
				}
			}
		case errors.Is(err, fs.ErrPermission) && dir != "":
			found.denied = append(found.denied, dir)
		default:
			return fileless{}, fmt.Errorf("look for empty directories: %w", err)
		}
	}
	return found, nil
}

// children lists a directory that lies behind no link.
func (w *Workspace) children(c *cursor, dir string) ([]string, error) {
	if children, ok := w.memo.children(dir); ok {
		return children, nil
	}
	root, err := c.enter(dir)
	if err != nil {
		return nil, err
	}
	entries, err := readDir(root, ".")
	if err != nil {
		return nil, err
	}
	children := childrenOf(dir, entries)
	w.memo.list(dir, children)
	return children, nil
}
