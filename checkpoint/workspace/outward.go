package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// A Root refuses to follow a link that leads out of it. What is behind such a
// link is no part of the workspace: it counts as not there, so that a directory
// that was replaced by one gives way like one that was removed.

// LinkOut returns the link on the way to a path, or at it, that leads out of the
// workspace, or nowhere; "" for none.
func (w *Workspace) LinkOut(path string) string {
	for _, dir := range above(path) {
		if !w.detours(dir) {
			continue
		}
		if _, err := w.root.Stat(native(dir)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return dir
		}
	}
	return ""
}

// LinksOut returns the links of that kind in the literal beginnings of patterns,
// sorted.
func (w *Workspace) LinksOut(patterns []string) ([]string, error) {
	parsed, err := parsePatterns(patterns)
	if err != nil {
		return nil, err
	}
	var links []string
	for _, p := range parsed {
		dir := p.base
		if len(p.elements) == 0 { // it names a file, which may be a link to anywhere
			dir = dir[:max(strings.LastIndexByte(dir, '/'), 0)]
		}
		if dir == "" {
			continue
		}
		if link := w.LinkOut(dir); link != "" {
			links = append(links, link)
		}
	}
	slices.Sort(links)
	return slices.Compact(links), nil
}

// detours reports whether there is a link on the way to a path, or at it.
func (w *Workspace) detours(path string) bool {
	return errors.Is(w.enter(path), errDetour)
}

// enter tries to open a directory, following no link.
func (w *Workspace) enter(dir string) error {
	return w.at(dir+"/", func(*os.Root, string) error { return nil })
}

// above returns the directories that a path lies in, the outermost first, and
// the path itself.
func above(path string) []string {
	dirs := slices.Collect(parents(path))
	slices.Reverse(dirs)
	return append(dirs, path)
}

// outward turns an error of what is at a path into one that says that nothing
// is, where a link on the way leads out of the workspace.
func (w *Workspace) outward(path string, err error) error {
	var failed *fs.PathError
	if !errors.As(err, &failed) || absent(err) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	if slash := strings.LastIndexByte(path, '/'); slash > 0 && w.LinkOut(path[:slash]) != "" {
		return fmt.Errorf("%w: %w", errDetour, err)
	}
	return err
}
