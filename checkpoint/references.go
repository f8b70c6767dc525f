package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// objectName is the name of an object in a form that millions of them fit into
// memory.
type objectName [sha256.Size]byte

// parseObject reads "sha256:…". What is no name of an object, as a digest that
// came with a document written by hand, refers to none.
func parseObject(digest string) (n objectName, ok bool) {
	digits, ok := strings.CutPrefix(digest, "sha256:")
	if !ok || len(digits) != hex.EncodedLen(len(n)) {
		return n, false
	}
	_, err := hex.Decode(n[:], []byte(digits))
	return n, err == nil
}

func (n objectName) digest() string { return "sha256:" + hex.EncodeToString(n[:]) }

// references are the objects and git references that something kept needs.
// Lists of artifacts that were looked at are not looked at again: states share
// them, so that a state costs its workstreams and what is new in it.
type references struct {
	objects  *objects.Store
	shallow  bool                    // listings stand for what is in them
	names    map[objectName]int64    // to the size on record, -1 where it is not
	lists    map[*state.Artifact]int // by the first one, to the length
	captures map[string]bool         // by their listing
	refs     map[string]bool         // of git, by refKey
}

func newReferences(from *objects.Store) *references {
	return &references{
		objects: from, names: map[objectName]int64{}, lists: map[*state.Artifact]int{}, captures: map[string]bool{}, refs: map[string]bool{},
	}
}

// needs reports whether an object is referred to.
func (r *references) needs(digest string) bool {
	n, ok := parseObject(digest)
	_, needed := r.names[n]
	return ok && needed
}

// add adds an object, and reports whether it is new.
func (r *references) add(digest string, size int64) bool {
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

// addState adds what a state needs to be gone on from, or back to.
func (r *references) addState(ctx context.Context, s *state.State) error {
	for list := range state.ArtifactLists(s) {
		r.addArtifacts(list)
	}
	return r.addCaptures(ctx, s)
}

func (r *references) addCaptures(ctx context.Context, s *state.State) error {
	for _, c := range []*state.Capture{s.Capture, s.RunCapture} {
		if err := r.addCapture(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (r *references) addArtifacts(list []state.Artifact) {
	if len(list) == 0 || r.lists[&list[0]] >= len(list) {
		return
	}
	r.lists[&list[0]] = len(list)
	for _, a := range list {
		r.add(a.Digest, a.Size)
	}
}

func (r *references) addCapture(ctx context.Context, c *state.Capture) error {
	if c == nil || c.Listing == "" {
		return nil
	}
	if c.Ref != "" {
		r.refs[refKey(c.Ref)] = true
	}
	if r.captures[c.Listing] {
		return nil
	}
	r.captures[c.Listing] = true
	if r.shallow {
		r.add(c.Listing, c.ShallowSize())
		return nil
	}
	return workspace.References(ctx, r.objects, c.Listing, r.add)
}

// gone is what is to be treated as removed already, for a look ahead.
type gone struct {
	checkpoints map[string]bool // ids
	sessions    map[string]bool // ids of places
}

// inventory is what all sessions of a state directory need.
type inventory struct {
	*references
	sessions map[string]bool // what the names of their git references begin with
}

// references reads every session there is. It fails on the first one that
// cannot be read: what that one needs is not known.
func (s *Store) references(ctx context.Context, without gone) (*inventory, error) {
	all, err := s.places()
	if err != nil {
		return nil, err
	}
	const most = 4 // there may be millions of names in each
	parts := make(chan *inventory, most)
	for range most {
		parts <- &inventory{references: newReferences(s.Objects()), sessions: map[string]bool{}}
	}
	err = atOnce(len(all), func(i int) error {
		part := <-parts
		defer func() { parts <- part }()
		r, err := s.record(all[i])
		goes := without.sessions[all[i].id]
		if err != nil && goes {
			return nil // what it needs is nobody's any more
		}
		if err == nil && r.state != nil {
			part.sessions[sessionRefs(r.state)] = true
			if !goes {
				err = s.addSession(ctx, part.references, r, without.checkpoints)
			}
		}
		if err != nil {
			return fmt.Errorf("find out what %s needs: %w", filepath.FromSlash(all[i].id), err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	inv := <-parts
	for range most - 1 {
		inv.take(<-parts)
	}
	return inv, nil
}

// take takes in what other sessions need.
func (inv *inventory) take(other *inventory) {
	for n, size := range other.names {
		if known, had := inv.names[n]; !had || size > known {
			inv.names[n] = size
		}
	}
	maps.Copy(inv.captures, other.captures)
	maps.Copy(inv.refs, other.refs)
	maps.Copy(inv.sessions, other.sessions)
}

// addSession adds what a session needs: where it stands, and all its
// checkpoints.
func (s *Store) addSession(ctx context.Context, r *references, from *recordedSession, without map[string]bool) error {
	clear(r.lists) // states of different sessions share nothing
	for _, head := range from.heads() {
		if err := r.addState(ctx, head); err != nil {
			return err
		}
	}
	wanted := from.wanted()
	for id := range without {
		delete(wanted, id)
	}
	for _, head := range from.heads() {
		for _, ref := range head.Checkpoints {
			if !wanted[ref.ID] {
				continue
			}
			if err := r.addCapture(ctx, ref.Capture); err != nil {
				return fmt.Errorf("checkpoint %s: %w", ref.ID, err)
			}
		}
	}
	return s.visit(ctx, from, visitor{wanted: wanted, state: func(id string, at *state.State) error {
		if err := r.addState(ctx, at); err != nil {
			return fmt.Errorf("checkpoint %s: %w", id, err)
		}
		return nil
	}})
}
