package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"prdrunner/checkpoint/workspace/tree"
)

// ObstructedError says that something is in the way of files, which nobody may
// remove unasked. Nothing was changed.
type ObstructedError struct{ Obstacles []Obstacle }

// Obstacle is something in the workspace that keeps a file from its place.
type Obstacle struct {
	Path   string // of the file
	Reason string // what is in its way, and how
}

func (e *ObstructedError) Error() string {
	return troubles("put in place", len(e.Obstacles), func(i int) (string, string) { return e.Obstacles[i].Path, e.Obstacles[i].Reason })
}

// Obstacles finds what would be in the way of changes. It writes nothing, and
// says nothing of files that are not as the changes say: these may be at work.
func (w *Workspace) Obstacles(ctx context.Context, changes []Change) ([]Obstacle, error) {
	r, err := newRestore(w, changes, RestoreOptions{})
	if err == nil {
		r.ahead = true
		err = r.compare(ctx)
	}
	var obstacles []Obstacle
	if err == nil {
		obstacles, err = r.findObstacles(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("look for what is in the way: %w", err)
	}
	return obstacles, nil
}

// findObstacles finds what is in the way of files and belongs to nobody here.
func (r *restore) findObstacles(ctx context.Context) ([]Obstacle, error) {
	var found []Obstacle
	above := map[string]string{} // what is in the way of a directory: "" for nothing
	c := r.w.Cursor()
	defer c.Close()
	for _, i := range r.items {
		if i.odd != "" {
			found = append(found, Obstacle{Path: i.Path, Reason: i.odd})
			continue
		}
		if i.done || i.To == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		obstacle, err := r.obstacleAbove(c, i.Path, above)
		if err == nil && obstacle == "" && i.isDir && !i.To.isDir() {
			obstacle, err = r.obstacleBelow(ctx, i.Path)
		}
		if err != nil {
			return nil, fmt.Errorf("look for what is in the way of %s: %w", i.Path, err)
		}
		if obstacle != "" {
			found = append(found, Obstacle{Path: i.Path, Reason: obstacle + " is in the way"})
		}
	}
	return found, nil
}

// obstacleAbove returns what is above a path and is no directory, of a link with
// where it leads.
func (r *restore) obstacleAbove(c *tree.Cursor, path string, known map[string]string) (string, error) {
	slash := strings.LastIndexByte(path, '/')
	if slash < 0 {
		return "", nil
	}
	dir := path[:slash]
	if obstacle, ok := known[dir]; ok {
		return obstacle, nil
	}
	obstacle, err := r.obstacleAbove(c, dir, known)
	if err != nil || obstacle != "" {
		known[dir] = obstacle
		return obstacle, err
	}
	root, name, err := c.At(dir)
	var info fs.FileInfo
	if err == nil {
		info, err = root.Lstat(tree.Native(name))
	}
	switch {
	case tree.IsAbsent(err), err == nil && info.IsDir(), err == nil && r.goes[dir]:
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := root.Readlink(tree.Native(name))
		if err != nil {
			return "", err
		}
		obstacle = fmt.Sprintf("%s (a link to %s)", dir, filepath.ToSlash(to))
	default:
		obstacle = dir
	}
	known[dir] = obstacle
	return obstacle, nil
}

// obstacleBelow returns what is in a directory and does not go.
func (r *restore) obstacleBelow(ctx context.Context, dir string) (string, error) {
	entries, err := r.w.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		path := dir + "/" + e.Name
		switch {
		case r.w.Reserved(path):
			return path, nil
		case e.IsDir:
			if obstacle, err := r.obstacleBelow(ctx, path); err != nil || obstacle != "" {
				return obstacle, err
			}
		case !r.goes[path]:
			return path, nil
		}
	}
	return "", ctx.Err()
}
