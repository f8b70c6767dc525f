package transfer

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// needed collects the objects that states need, wherever their bytes are kept. Unlike
// references, it includes files whose bytes are in git.
type needed struct {
	inventory *workspace.Inventory
	files     map[string][]workspace.Entry // by digest; several entries if git has the bytes as different blobs
	lists     map[*state.Artifact]int      // artifact lists that were added: address of the first artifact, to the length
	listings  []string
}

func newNeeded(from workspace.ObjectSource) *needed {
	n := &needed{files: map[string][]workspace.Entry{}, lists: map[*state.Artifact]int{}}
	n.inventory = workspace.NewInventory(from, n.addFile)
	return n
}

func objectSource(s *checkpoint.Store) workspace.ObjectSource { return s.Objects().Get }

func (n *needed) addFile(e workspace.Entry) {
	if !objects.IsDigest(e.Digest) {
		return // for example a digest from a document that a person wrote
	}
	had := n.files[e.Digest]
	if !slices.ContainsFunc(had, func(h workspace.Entry) bool { return h.Blob == e.Blob }) {
		n.files[e.Digest] = append(had, e)
	}
}

// addHead adds the objects that are needed to continue a session.
func (n *needed) addHead(s *state.State) {
	for _, ref := range s.Checkpoints {
		n.addCapture(ref.Capture)
	}
	n.addState(s)
}

// addState adds the objects that are needed to continue from a state, or to roll back to
// it.
func (n *needed) addState(s *state.State) {
	for list := range state.ArtifactLists(s) {
		if n.lists[&list[0]] >= len(list) {
			continue
		}
		n.lists[&list[0]] = len(list)
		for _, a := range list {
			if !a.LeftOut {
				n.addFile(workspace.Entry{Path: string(a.Path), Mode: a.Mode, Size: a.Size, Digest: a.Digest})
			}
		}
	}
	n.addCaptures(s)
}

func (n *needed) addCaptures(s *state.State) {
	n.addCapture(s.Capture)
	n.addCapture(s.RunCapture)
}

func (n *needed) addCapture(c *state.Capture) {
	if c != nil && c.Listing != "" && !slices.Contains(n.listings, c.Listing) {
		n.listings = append(n.listings, c.Listing)
	}
}

// readListings adds the files that the captures list.
func (n *needed) readListings(ctx context.Context) error {
	for _, listing := range n.listings {
		if err := n.inventory.Add(ctx, listing); err != nil {
			return fmt.Errorf("read what a checkpoint captured: %w", err)
		}
	}
	return nil
}

// objectMember returns the name of an object in an archive.
func objectMember(digest string) string {
	hex := strings.TrimPrefix(digest, "sha256:")
	return disk.ObjectsDir + "/" + hex[:2] + "/" + hex[2:]
}

// gatherObjects adds the bytes of all files, wherever they are kept, and records the files
// whose bytes can't be found.
func (x *exporting) gatherObjects(ctx context.Context) (err error) {
	if x.reader, err = x.w.Contents().Reader(ctx); err != nil {
		return err
	}
	own := x.needed.inventory
	for _, digest := range slices.Sorted(maps.Keys(own.Lost)) {
		x.addLacking(digest, Lacking{What: state.Text(digest), Reason: state.Text(own.Lost[digest])})
	}
	for digest, size := range own.Own {
		x.addObject(ctx, workspace.Entry{Digest: digest, Size: size})
	}
	files, err := x.available(ctx)
	if err != nil {
		return err
	}
	for digest, e := range files {
		if _, had := own.Own[digest]; !had {
			x.addObject(ctx, e)
		}
	}
	if err := x.takeFromFiles(ctx); err != nil {
		return err
	}
	slices.Sort(x.done.LostObjects)
	x.done.LostObjects = slices.Compact(x.done.LostObjects)
	return nil
}

// available returns, by digest, an entry whose bytes can be read. It adds the entries of
// digests that can't be read to x.lost.
func (x *exporting) available(ctx context.Context) (map[string]workspace.Entry, error) {
	var all []workspace.Entry
	for _, digest := range slices.Sorted(maps.Keys(x.needed.files)) {
		for _, e := range x.needed.files[digest] {
			e.Path = digest + " " + e.Blob // identifies the entry if it is missing
			all = append(all, e)
		}
	}
	readable, missing, err := x.w.Contents().Readable(ctx, all)
	if err != nil {
		return nil, err
	}
	found := map[string]workspace.Entry{}
	for _, e := range readable {
		e.Path = x.needed.files[e.Digest][0].Path // the path that errors name
		if _, had := found[e.Digest]; !had {
			found[e.Digest] = e
		}
	}
	reasons := map[string]string{}
	for _, m := range missing {
		reasons[m.Path] = m.Reason
	}
	for _, digest := range slices.Sorted(maps.Keys(x.needed.files)) {
		if _, ok := found[digest]; !ok {
			e := x.needed.files[digest][0]
			x.lost = append(x.lost, e)
			x.reasons[digest] = reasons[digest+" "+e.Blob]
		}
	}
	return found, nil
}

// takeFromFiles adds lost and damaged objects from workspace files that have the same
// bytes, and records the objects that no file has.
func (x *exporting) takeFromFiles(ctx context.Context) error {
	if len(x.lost) == 0 {
		return nil
	}
	shown := &workspace.Listing{Entries: x.lost}
	if c := x.state.Capture; c != nil && x.needed.inventory.Lost[c.Listing] == "" {
		l, err := x.w.Load(ctx, c.Listing)
		if err != nil {
			return fmt.Errorf("read what a checkpoint captured: %w", err)
		}
		shown.Patterns = l.Patterns
	}
	files, err := workspace.PathsByDigest(ctx, x.w, shown)
	if err != nil {
		return err
	}
	for _, e := range x.lost {
		path, there := files[e.Digest]
		if !there || workspace.Sensitive(path) && path != e.Path {
			x.addLacking(e.Digest, Lacking{What: state.Text(e.Path), Reason: state.Text(x.reasons[e.Digest])})
			continue
		}
		e.Path = path
		x.done.FromFiles = append(x.done.FromFiles, path)
		x.addMember(e, func() (io.ReadCloser, error) { return x.w.OpenFile(ctx, e) })
	}
	slices.Sort(x.done.FromFiles)
	return nil
}

func (x *exporting) addLacking(digest string, l Lacking) {
	x.done.LostObjects = append(x.done.LostObjects, digest)
	x.done.Lacking = append(x.done.Lacking, l)
}

func (x *exporting) addObject(ctx context.Context, e workspace.Entry) {
	x.addMember(e, func() (io.ReadCloser, error) { return x.reader.Open(ctx, e) })
}

func (x *exporting) addMember(e workspace.Entry, open func() (io.ReadCloser, error)) {
	x.done.Objects++
	x.done.ObjectBytes += e.Size
	x.entries = append(x.entries, bundle.Entry{Name: objectMember(e.Digest), Size: e.Size, Open: open})
}
