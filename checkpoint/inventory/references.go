// Package inventory finds out which objects and git references the sessions and the safety
// checkpoints of a store need, and how many bytes sessions occupy. It only reads.
//
// [Read] collects the needs of every session, from which a collection follows. [Measure]
// tells how large a PRD is and which part of it each checkpoint holds. [ScanJournals] is
// the quick pass of the end of a run: an upper bound of the size, and the objects that the
// session has given up.
//
// Package prune acts on what this package finds. Read references.go first.
package inventory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// objectName is a binary digest, so that millions of names fit into memory.
type objectName [sha256.Size]byte

// parseObject reads "sha256:…". A malformed digest, for example from a document written by
// hand, refers to no object.
func parseObject(digest string) (n objectName, ok bool) {
	digits, ok := strings.CutPrefix(digest, "sha256:")
	if !ok || len(digits) != hex.EncodedLen(len(n)) {
		return n, false
	}
	_, err := hex.Decode(n[:], []byte(digits))
	return n, err == nil
}

func (n objectName) digest() string { return "sha256:" + hex.EncodeToString(n[:]) }

// References collects the objects and git references that kept sessions and checkpoints
// need. It visits each list of artifacts once. Because successive states share their
// lists, adding a state costs time for its workstreams and for new lists only.
type References struct {
	objects *objects.Store
	shallow bool // add each listing as one object, without reading it
	// names maps objects to their recorded size, -1 if unknown.
	names map[objectName]int64
	// lists holds the lists visited: the address of the first artifact and the length.
	lists    map[*state.Artifact]int
	captures map[string]bool // the captures visited, by listing
	Refs     map[string]bool // references of git, by disk.RefKey
}

func newReferences(from *objects.Store) *References {
	return &References{
		objects: from, names: map[objectName]int64{}, lists: map[*state.Artifact]int{}, captures: map[string]bool{}, Refs: map[string]bool{},
	}
}

// Needs reports whether something refers to an object.
func (r *References) Needs(digest string) bool {
	n, ok := parseObject(digest)
	_, needed := r.names[n]
	return ok && needed
}

// All returns the digests of the objects with their recorded sizes, -1 if unknown.
func (r *References) All() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for n, size := range r.names {
			if !yield(n.digest(), size) {
				return
			}
		}
	}
}

// addObject adds an object and reports whether it is new.
func (r *References) addObject(digest string, size int64) bool {
	n, ok := parseObject(digest)
	if !ok {
		return false
	}
	known, had := r.names[n]
	if !had || size > known {
		r.names[n] = size
	}
	return !had
}

// addState adds the objects that continuing from a state, or going back to it, needs.
func (r *References) addState(ctx context.Context, s *state.State) error {
	for list := range state.ArtifactLists(s) {
		r.addArtifacts(list)
	}
	return r.addCaptures(ctx, s)
}

func (r *References) addCaptures(ctx context.Context, s *state.State) error {
	for _, c := range []*state.Capture{s.Capture, s.RunCapture} {
		if err := r.addCapture(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (r *References) addArtifacts(list []state.Artifact) {
	if len(list) == 0 || r.lists[&list[0]] >= len(list) {
		return
	}
	r.lists[&list[0]] = len(list)
	for _, a := range list {
		r.addObject(a.Digest, a.Size)
	}
}

func (r *References) addCapture(ctx context.Context, c *state.Capture) error {
	if c == nil || c.Listing == "" {
		return nil
	}
	if c.Ref != "" {
		r.Refs[disk.RefKey(c.Ref)] = true
	}
	if r.captures[c.Listing] {
		return nil
	}
	r.captures[c.Listing] = true
	if r.shallow {
		r.addObject(c.Listing, c.ShallowSize())
		return nil
	}
	return workspace.References(ctx, r.objects, c.Listing, r.addObject)
}

// Removed names checkpoints and sessions that a plan treats as removed.
type Removed struct {
	Checkpoints map[string]bool // checkpoint IDs
	Sessions    map[string]bool // IDs of places
}

// Inventory holds the references of all sessions of a state directory.
type Inventory struct {
	*References
	Sessions map[string]bool // prefixes of the sessions' git reference names
}

// Read reads every session. It returns an error if one can't be read, because its
// needs are unknown then.
func Read(ctx context.Context, s *checkpoint.Store, without Removed) (*Inventory, error) {
	dirs, err := s.Layout().SessionDirs("")
	if err != nil {
		return nil, err
	}
	const most = 4 // a low limit, because each part may hold millions of names
	parts := make(chan *Inventory, most)
	for range most {
		parts <- &Inventory{References: newReferences(s.Objects()), Sessions: map[string]bool{}}
	}
	var all errgroup.Group
	all.SetLimit(min(most, runtime.GOMAXPROCS(0)))
	for _, dir := range dirs {
		all.Go(func() error {
			part := <-parts
			defer func() { parts <- part }()
			if err := part.addDir(ctx, s, dir, without); err != nil {
				return fmt.Errorf("find out what %s needs: %w", filepath.FromSlash(dir.ID), err)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	inv := <-parts
	for range most - 1 {
		inv.mergePart(<-parts)
	}
	return inv, inv.addSafety(ctx, s)
}

// addSafety adds what the safety checkpoints need.
func (inv *Inventory) addSafety(ctx context.Context, s *checkpoint.Store) error {
	all, unread, err := s.Safety().List()
	if err == nil && len(unread) > 0 {
		err = unread[0].Err
	}
	if err != nil {
		return fmt.Errorf("find out what safety checkpoints need: %w", err)
	}
	for _, c := range all {
		if c.Databases != nil {
			for _, copied := range c.Databases.Savepoints {
				inv.addObject(copied.Object, copied.Size)
			}
		}
		if c.Files == nil {
			continue
		}
		if err := inv.addCapture(ctx, &state.Capture{Capture: c.Files.Capture}); err != nil {
			return fmt.Errorf("find out what safety checkpoint %s needs: %w", c.ID, err)
		}
	}
	return nil
}

// addDir adds what the session in a directory needs. It need not read a session that
// without names.
func (inv *Inventory) addDir(ctx context.Context, s *checkpoint.Store, dir disk.SessionDir, without Removed) error {
	r, err := s.Reader().ReadRecord(dir)
	goes := without.Sessions[dir.ID]
	if err != nil && goes {
		return nil // the session is removed, so its needs don't count
	}
	if err != nil || r.State == nil {
		return err
	}
	inv.Sessions[disk.SessionRefs(r.State)] = true
	if goes {
		return nil
	}
	return addSession(ctx, s, inv.References, r, without.Checkpoints)
}

// mergePart adds the references of another inventory.
func (inv *Inventory) mergePart(other *Inventory) {
	for n, size := range other.names {
		if known, had := inv.names[n]; !had || size > known {
			inv.names[n] = size
		}
	}
	maps.Copy(inv.captures, other.captures)
	maps.Copy(inv.Refs, other.Refs)
	maps.Copy(inv.Sessions, other.Sessions)
}

// addSession adds what a session needs for its head and for all its checkpoints except
// those in without.
func addSession(ctx context.Context, s *checkpoint.Store, r *References, from *reader.Record, without map[string]bool) error {
	clear(r.lists) // states of different sessions share no lists
	for _, head := range from.Heads() {
		if err := r.addState(ctx, head); err != nil {
			return err
		}
	}
	wanted := from.NeededCheckpoints()
	for id := range without {
		delete(wanted, id)
	}
	for _, head := range from.Heads() {
		for _, ref := range head.Checkpoints {
			if !wanted[ref.ID] {
				continue
			}
			if err := r.addCapture(ctx, ref.Capture); err != nil {
				return fmt.Errorf("checkpoint %s: %w", ref.ID, err)
			}
		}
	}
	return s.Reader().VisitRecord(ctx, from, reader.Visitor{Wanted: wanted, Checkpoint: func(id string, at *state.State) error {
		if err := r.addState(ctx, at); err != nil {
			return fmt.Errorf("checkpoint %s: %w", id, err)
		}
		return nil
	}})
}
