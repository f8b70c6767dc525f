package workspace

import (
	"context"
	"strings"

	"prdrunner/checkpoint/workspace/tree"
)

// prepare checks that everything can be restored. With Force it skips the files that can't
// be.
func (r *restore) prepare(ctx context.Context) error {
	obstacles, err := r.findObstacles(ctx)
	if err != nil {
		return err
	}
	if len(obstacles) > 0 && !r.o.Force {
		return &ObstructedError{Obstacles: obstacles}
	}
	found := map[string]string{}
	for _, o := range obstacles {
		found[o.Path] = o.Reason
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
	return r.skip(found)
}

// skip drops the items of the given paths with Force, and fails without it.
func (r *restore) skip(reasons map[string]string) error {
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

// stageAll writes all bytes to temporary files.
func (r *restore) stageAll(ctx context.Context) (err error) {
	var staged []*item
	c := r.w.Cursor()
	defer c.Close()
	for n, i := range r.items {
		if !i.writes() {
			continue
		}
		if last := len(staged) - 1; last >= 0 && tree.Parent(staged[last].Path) == tree.Parent(i.Path) {
			i.stage = staged[last].stage
		} else if i.stage, err = r.stageDir(c, i.Path); err != nil {
			return failed(i.Path, err)
		}
		i.temp = r.tempName(n)
		staged = append(staged, i)
	}
	damaged, err := r.stage(ctx, staged)
	if err != nil {
		return err
	}
	return r.skip(damaged)
}

// stageDir returns the nearest existing directory above a path. New directories are made
// only once all bytes are written.
func (r *restore) stageDir(c *tree.Cursor, path string) (string, error) {
	for {
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
		if _, err := c.Enter(path); !tree.IsAbsent(err) {
			return path, err
		}
	}
}
