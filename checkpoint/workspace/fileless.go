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

// fileless are directories in which there is no file that git knows.
type fileless struct {
	outermost []string // of those that it knows nothing of: what is empty is among them, or below one
	emptied   []string // those that nothing is in, and that it knows files of
	denied    []string // those that it knows files of, and that may not be read
}

// fileless finds directories in which there is no file that git knows. Only
// names are read, so that it costs much less than to let git look through the
// work tree once more.
func (w *Workspace) fileless(ctx context.Context, files []GitFile) (found fileless, err error) {
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
			return fileless{}, err
		}
		subdirs, names, err := c.subdirs(dir, func(child string) bool { return listed[child] || dirs[child] || w.excluded(child) })
		switch {
		case err == nil && names == 0 && dir != "":
			found.emptied = append(found.emptied, dir)
		case err == nil, absent(err):
			found.outermost = append(found.outermost, subdirs...)
		case errors.Is(err, fs.ErrPermission) && dir != "":
			found.denied = append(found.denied, dir)
		default:
			return fileless{}, fmt.Errorf("look for empty directories: %w", err)
		}
	}
	return found, nil
}

// subdirs returns the directories in a directory, but for those that are known,
// and how many names there are in it.
func (c *cursor) subdirs(dir string, known func(path string) bool) (subdirs []string, names int, err error) {
	root, err := c.enter(dir)
	if err != nil {
		return nil, 0, err
	}
	all, err := readNames(root)
	if err != nil {
		return nil, 0, err
	}
	for _, name := range all {
		child := path.Join(dir, name)
		if known(child) {
			continue
		}
		if info, err := root.Lstat(name); err == nil && info.IsDir() {
			subdirs = append(subdirs, child)
		}
	}
	return subdirs, len(all), nil
}

func readNames(dir *os.Root) ([]string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}
