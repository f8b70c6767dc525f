package workspace

import (
	"context"

	"prdrunner/checkpoint/workspace/tree"
)

// Compared is what is at the path of an entry.
type Compared struct {
	Now      *Entry // nil: nothing that could be lost, or nothing that an Entry can describe
	Obstacle string // what keeps the entry from being put there: its path, and of a link where it leads, or that it is a mount point; "": nothing does
}

// Same reports whether an entry is at its path already.
func (c Compared) Same(e Entry) bool { return equal(c.Now, &e) }

// Compare looks at what is at the paths of entries, in their order. It follows
// no link: what looks like a path below one is somewhere else. A directory with
// files in it counts as the empty one that is wanted in its place. An entry that
// cannot be of a workspace is an error; one that is no part of this one is in
// its own way.
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

// findInTheWay finds what is in the way where nothing was found at a path.
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
