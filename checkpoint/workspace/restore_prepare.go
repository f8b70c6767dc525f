package workspace

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
)

// prepare makes sure that everything can be restored, or with Force leaves out
// what can't.
func (r *restore) prepare(ctx context.Context) error {
	found := map[string]string{}
	if err := r.findObstacles(ctx, found); err != nil {
		return err
	}
	var entries []Entry
	for _, i := range r.items {
		if i.writes() {
			entries = append(entries, *i.To)
		}
	}
	missing, err := r.w.Missing(ctx, entries, false)
	if err != nil {
		return err
	}
	for _, m := range missing {
		found[m.Path] = m.Reason
	}
	return r.leaveOut(found)
}

// leaveOut leaves out the items of the given paths, if that is wanted.
func (r *restore) leaveOut(reasons map[string]string) error {
	if len(reasons) == 0 {
		return nil
	}
	var missing []Missing
	kept := r.items[:0:0]
	for _, i := range r.items {
		if reason, ok := reasons[i.Path]; ok {
			missing = append(missing, Missing{Path: i.Path, Reason: reason})
			delete(r.goes, i.Path)
		} else {
			kept = append(kept, i)
		}
	}
	if !r.o.Force {
		return &MissingError{Missing: missing}
	}
	r.items = kept
	r.skipped = append(r.skipped, missing...)
	return nil
}

// findObstacles finds what is in the way of files and belongs to nobody here:
// it names the paths that can't be written, and why.
func (r *restore) findObstacles(ctx context.Context, found map[string]string) error {
	above := map[string]string{} // what is in the way of a directory: "" for nothing
	c := cursor{base: r.w.root}
	defer c.close()
	for _, i := range r.items {
		if i.done || i.To == nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		obstacle, err := r.obstacleAbove(&c, i.Path, above)
		if err == nil && obstacle == "" && i.isDir && !i.To.isDir() {
			obstacle, err = r.obstacleBelow(ctx, i.Path)
		}
		if err != nil {
			return fmt.Errorf("look for what is in the way of %s: %w", i.Path, err)
		}
		if obstacle != "" {
			found[i.Path] = obstacle + " is in the way"
		}
	}
	return nil
}

// obstacleAbove returns what is above a path and is no directory.
func (r *restore) obstacleAbove(c *cursor, path string, known map[string]string) (string, error) {
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
	root, name, err := c.at(dir)
	var info fs.FileInfo
	if err == nil {
		info, err = root.Lstat(native(name))
	}
	switch {
	case absent(err), err == nil && info.IsDir(), err == nil && r.goes[dir]:
	case err != nil:
		return "", err
	default:
		obstacle = dir
	}
	known[dir] = obstacle
	return obstacle, nil
}

// obstacleBelow returns what is in a directory and does not go.
func (r *restore) obstacleBelow(ctx context.Context, dir string) (string, error) {
	entries, err := r.w.readDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		path := dir + "/" + e.Name()
		switch {
		case r.w.excluded(path):
			return path, nil
		case e.IsDir():
			if obstacle, err := r.obstacleBelow(ctx, path); err != nil || obstacle != "" {
				return obstacle, err
			}
		case !r.goes[path]:
			return path, nil
		}
	}
	return "", ctx.Err()
}

// stageAll writes all bytes to temporary files.
func (r *restore) stageAll(ctx context.Context) (err error) {
	var staged []*item
	c := cursor{base: r.w.root}
	defer c.close()
	for n, i := range r.items {
		if i.done || i.To == nil {
			continue
		}
		if i.writes() {
			if i.stage, err = r.stageDir(&c, i.Path); err != nil {
				return failed(i.Path, err)
			}
			i.temp = r.tempName(n)
			staged = append(staged, i)
		}
	}
	damaged, err := r.stage(ctx, staged)
	if err != nil {
		return err
	}
	return r.leaveOut(damaged)
}

// stageDir returns the nearest directory above a path that is there: new ones
// are not made before everything is at hand.
func (r *restore) stageDir(c *cursor, path string) (string, error) {
	for {
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
		if _, err := c.enter(path); !absent(err) {
			return path, err
		}
	}
}
