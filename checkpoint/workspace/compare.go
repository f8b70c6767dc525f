package workspace

import (
	"context"

	"prdrunner/checkpoint/workspace/tree"
)

// Compared describes the file at the path of an entry.
type Compared struct {
	Now *Entry // nil: nothing that could be lost, or something that an Entry can't describe
	// Obstacle is the path of the file that keeps Restore from writing the entry. It includes
	// the target of a link, or a note on a mount point. "": nothing does.
	Obstacle string
}

// Same reports whether the workspace has the entry e already.
func (c Compared) Same(e Entry) bool { return equal(c.Now, &e) }

// Compare describes what the workspace has at the paths of entries, in their order. It
// follows no links, since a path below a link is another file. Where an entry is an empty
// directory, a directory with files counts as equal. Compare returns an error if an entry
// can't belong to any workspace. An entry that is reserved in this workspace is its own
// obstacle.
func (w *Workspace) Compare(ctx context.Context, entries []Entry) ([]Compared, error) {
	r := &restore{w: w, goes: map[string]bool{}}
	found := make([]Compared, len(entries))
	items := make([]*item, len(entries))
	err := w.Each(ctx, len(entries), 1+min(chunkSize, len(entries)/16), func(ctx context.Context, c *tree.Cursor, n int) (err error) {
		e := &entries[n]
		if err := e.check(); err != nil {
			return err
		}
		items[n] = &item{Change: Change{Path: e.Path, To: e}}
		if w.Reserved(e.Path) {
			found[n].Obstacle = e.Path
			return nil
		}
		found[n].Now, err = r.current(ctx, c, items[n])
		if oddity(err) != "" {
			found[n].Obstacle, err = e.Path, nil
		} else if err == nil && staysMounted(c, items[n], found[n].Now) {
			found[n].Obstacle = e.Path + " (a mount point)"
		}
		switch isDir := items[n].isDir; {
		case isDir && e.isDir() && found[n].Now == nil:
			found[n].Now = e
		case isDir && !equal(found[n].Now, e):
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
	c := r.w.Cursor()
	defer c.Close()
	for n, i := range items {
		if found[n].Now != nil || found[n].Obstacle != "" {
			continue
		}
		var err error
		switch {
		case i.isDir && i.To.isDir():
		case i.isDir:
			found[n].Obstacle, err = r.obstacleBelow(ctx, i.Path)
		default:
			found[n].Obstacle, err = r.obstacleAbove(c, i.Path, above)
		}
		if err != nil {
			return failed(i.Path, err)
		}
	}
	return ctx.Err()
}
