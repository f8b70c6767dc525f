package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"prdrunner/checkpoint/workspace/tree"
)

// ObstructedError says that files are in the way of a restore that Runner may not remove
// unasked. Nothing was changed.
type ObstructedError struct{ Obstacles []Obstacle }

// Obstacle is a file that Restore can't write because another file in the workspace is in
// the way.
type Obstacle struct {
	Path   string // of the file to be restored
	Reason string // names the file in the way, and says why it is
}

func (e *ObstructedError) Error() string {
	return describeFailures("put in place", len(e.Obstacles), func(i int) (string, string) { return e.Obstacles[i].Path, e.Obstacles[i].Reason })
}

// Obstacles finds the obstacles of changes. It writes nothing. It ignores files that
// match neither side of a change, since a program may be writing them.
func (w *Workspace) Obstacles(ctx context.Context, changes []Change) ([]Obstacle, error) {
	r, err := newRestore(w, changes, RestoreOptions{})
	if err == nil {
		r.preview = true
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

// findObstacles finds the files in the way of the changes that the changes themselves do
// not remove.
func (r *restore) findObstacles(ctx context.Context) ([]Obstacle, error) {
	var found []Obstacle
	above := map[string]string{} // the obstacle of each directory; "" if it has none
	c := r.w.tree.Cursor()
	defer c.Close()
	for _, i := range r.items {
		if i.unrecordable != "" {
			found = append(found, Obstacle{Path: i.Path, Reason: i.unrecordable})
			continue
		}
		if i.done || i.To == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		obstacle, err := r.obstacleAbove(c, i.Path, above)
		if err == nil && obstacle == "" && i.isDir && !i.To.IsDir() {
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

// obstacleAbove returns the path above path that is not a directory. If it is a link,
// obstacleAbove adds the link's target.
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
	case tree.IsAbsent(err), err == nil && info.IsDir(), err == nil && r.removedPaths[dir]:
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

// obstacleBelow returns a file in a directory that the changes do not remove.
func (r *restore) obstacleBelow(ctx context.Context, dir string) (string, error) {
	entries, err := r.w.tree.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		path := dir + "/" + e.Name
		switch {
		case r.w.tree.Reserved(path):
			return path, nil
		case e.IsDir:
			if obstacle, err := r.obstacleBelow(ctx, path); err != nil || obstacle != "" {
				return obstacle, err
			}
		case !r.removedPaths[path]:
			return path, nil
		}
	}
	return "", ctx.Err()
}

// Compared describes the file at the path of an entry.
type Compared struct {
	Now *Entry // nil: nothing that could be lost, or something that an Entry can't describe
	// Obstacle is the path of the file that keeps Restore from writing the entry. It
	// includes the target of a link, or a note on a mount point. "": nothing does.
	Obstacle string
}

// Same reports whether the workspace has the entry e already.
func (c Compared) Same(e Entry) bool { return equalEntries(c.Now, &e) }

// Compare describes what the workspace has at the paths of entries, in their order. It
// follows no links, since a path below a link is another file. Where an entry is an empty
// directory, a directory with files counts as equal. Compare returns an error if an entry
// can't belong to any workspace. An entry that is reserved in this workspace is its own
// obstacle.
func (w *Workspace) Compare(ctx context.Context, entries []Entry) ([]Compared, error) {
	r := &restore{w: w, removedPaths: map[string]bool{}}
	found := make([]Compared, len(entries))
	items := make([]*item, len(entries))
	err := w.tree.Each(ctx, len(entries), 1+min(chunkSize, len(entries)/16), func(ctx context.Context, c *tree.Cursor, n int) (err error) {
		e := &entries[n]
		if err := e.validate(); err != nil {
			return err
		}
		items[n] = &item{Change: Change{Path: e.Path, To: e}}
		if w.tree.Reserved(e.Path) {
			found[n].Obstacle = e.Path
			return nil
		}
		found[n].Now, err = r.current(ctx, c, items[n])
		if unrecordableReason(err) != "" {
			found[n].Obstacle, err = e.Path, nil
		} else if err == nil && staysMounted(c, items[n], found[n].Now) {
			found[n].Obstacle = e.Path + " (a mount point)"
		}
		switch isDir := items[n].isDir; {
		case isDir && e.IsDir() && found[n].Now == nil:
			found[n].Now = e
		case isDir && !equalEntries(found[n].Now, e):
			found[n].Now = nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, r.findInTheWay(ctx, items, found)
}

// findInTheWay finds the obstacles of the entries for which nothing was found at their
// path.
func (r *restore) findInTheWay(ctx context.Context, items []*item, found []Compared) error {
	above := map[string]string{}
	c := r.w.tree.Cursor()
	defer c.Close()
	for n, i := range items {
		if found[n].Now != nil || found[n].Obstacle != "" {
			continue
		}
		var err error
		switch {
		case i.isDir && i.To.IsDir():
		case i.isDir:
			found[n].Obstacle, err = r.obstacleBelow(ctx, i.Path)
		default:
			found[n].Obstacle, err = r.obstacleAbove(c, i.Path, above)
		}
		if err != nil {
			return withPath(i.Path, err)
		}
	}
	return ctx.Err()
}
