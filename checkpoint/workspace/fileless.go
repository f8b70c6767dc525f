package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
)

// fileless returns the outermost directories that hold no file that git knows:
// what is empty is among them, or below one. Only names are read, so that it
// costs much less than to let git look through the work tree once more. denied
// are the directories that hold one and may not be read.
func (w *Workspace) fileless(ctx context.Context, files []GitFile) (found, denied []string, err error) {
	listed := make(map[string]bool, len(files))
	dirs := map[string]bool{"": true}
	for _, f := range files {
		listed[f.Path] = true
		for dir := range parents(f.Path) {
			if dirs[dir] {
				break
			}
			dirs[dir] = true
		}
	}
	c := cursor{base: w.root}
	defer c.close()
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		subdirs, err := c.subdirs(dir, func(child string) bool { return listed[child] || dirs[child] || w.excluded(child) })
		switch {
		case err == nil, absent(err):
			found = append(found, subdirs...)
		case errors.Is(err, fs.ErrPermission) && dir != "":
			denied = append(denied, dir)
		default:
			return nil, nil, fmt.Errorf("look for empty directories: %w", err)
		}
	}
	return found, denied, nil
}

// subdirs returns the directories in a directory, but for those that are known.
func (c *cursor) subdirs(dir string, known func(path string) bool) ([]string, error) {
	root, err := c.enter(dir)
	if err != nil {
		return nil, err
	}
	names, err := readNames(root)
	if err != nil {
		return nil, err
	}
	var subdirs []string
	for _, name := range names {
		child := path.Join(dir, name)
		if known(child) {
			continue
		}
		if info, err := root.Lstat(name); err == nil && info.IsDir() {
			subdirs = append(subdirs, child)
		}
	}
	return subdirs, nil
}

func readNames(dir *os.Root) ([]string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}
