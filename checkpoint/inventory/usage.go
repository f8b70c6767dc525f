package inventory

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// Holdings is the disk usage of a PRD: all its sessions and the objects that they refer
// to. An object that two PRDs refer to counts for both.
type Holdings struct {
	retention.Usage
	Files   int64
	Objects int64
}

// ReadSessions reads the sessions of a PRD. The owner of the current session passes its state
// in owned, and then its journal is not read. An unreadable archived session is skipped
// without an error; other commands report it.
func ReadSessions(s *checkpoint.Store, prd string, owned *state.State) ([]*reader.Record, error) {
	places, err := s.Layout().SessionDirs(prd)
	if err != nil {
		return nil, err
	}
	var records []*reader.Record
	for _, p := range places {
		if p.Place == disk.PlaceCurrent && owned != nil {
			records = append(records, &reader.Record{SessionDir: p, State: owned})
			continue
		}
		r, err := s.Reader().ReadRecord(p)
		if err != nil && p.Place == disk.PlaceCurrent {
			return nil, err
		}
		if err == nil && r.State != nil {
			records = append(records, r)
		}
	}
	return records, nil
}

// ledger computes which objects only checkpoints need. base holds the references that
// remain without any checkpoint of the current session.
type ledger struct {
	s     *checkpoint.Store
	base  *References
	blobs map[objectName]int
	usage *retention.Usage
	// lists and captures hold the blobs found in a list of artifacts, by its first
	// artifact, and in a capture, by its listing. Blobs in base are left out.
	lists    map[*state.Artifact][]int
	captures map[string][]int
}

// Measure computes the disk usage of a PRD, and which part belongs to each checkpoint of its
// current session.
func Measure(ctx context.Context, s *checkpoint.Store, prd string, records []*reader.Record) (*Holdings, error) {
	h := &Holdings{}
	h.Held = map[string]retention.Holding{}
	if err := fileSizes(s, prd, h); err != nil {
		return h, err
	}
	l := &ledger{
		s: s, base: newReferences(s.Objects()), blobs: map[objectName]int{}, usage: &h.Usage,
		lists: map[*state.Artifact][]int{}, captures: map[string][]int{},
	}
	var current *reader.Record
	for _, r := range records {
		var err error
		if r.Place == disk.PlaceCurrent {
			current = r
			for _, head := range r.Heads() {
				if err == nil {
					err = l.base.addState(ctx, head)
				}
			}
		} else {
			err = addSession(ctx, s, l.base, r, nil)
		}
		if err != nil {
			return h, fmt.Errorf("find out what %s holds: %w", filepath.FromSlash(r.ID), err)
		}
	}
	if current != nil {
		if err := l.addCheckpoints(ctx, current); err != nil {
			return h, fmt.Errorf("find out what %s holds: %w", prd, err)
		}
	}
	for n, known := range l.base.names {
		h.Objects += stored(s, n, known)
	}
	for _, size := range h.Blobs {
		h.Objects += size
	}
	h.Total = h.Files + h.Objects
	return h, nil
}

// fileSizes adds the sizes of a PRD's files, and records those of checkpoint files by
// checkpoint.
func fileSizes(s *checkpoint.Store, prd string, h *Holdings) error {
	places, err := s.Layout().SessionDirs(prd)
	if err != nil {
		return err
	}
	for _, p := range places {
		if !strings.HasPrefix(p.ID, disk.FailedDir+"/") {
			continue // all other sessions lie in the PRD's directory, which is added below
		}
		size, err := store.TreeSize(s.Layout().FS, p.Dir)
		if err != nil {
			return err
		}
		h.Files += size
	}
	if info, err := s.FS().Lstat(s.Layout().DocumentPath(prd)); err == nil {
		h.Files += info.Size()
	}
	dir := s.Layout().PRDDir(prd)
	err = store.EachSize(s.Layout().FS, dir, disk.CheckpointsDir, func(_ string, size int64) { h.Files += size })
	if err != nil {
		return err
	}
	return store.EachSize(s.Layout().FS, filepath.Join(dir, disk.CheckpointsDir), "", func(name string, size int64) {
		h.Files += size
		if id, ok := disk.CheckpointOf(name); ok {
			h.Held[id] = retention.Holding{Own: h.Held[id].Own + size}
		}
	})
}

// addCheckpoints records the objects that each checkpoint needs and base does not.
func (l *ledger) addCheckpoints(ctx context.Context, r *reader.Record) error {
	return l.s.Reader().VisitRecord(ctx, r, reader.Visitor{Wanted: r.NeededCheckpoints(), Checkpoint: func(id string, at *state.State) error {
		held := l.usage.Held[id]
		for list := range state.ArtifactLists(at) {
			held.Blobs = append(held.Blobs, l.ofArtifacts(list)...)
		}
		captures := []*state.Capture{at.Capture, at.RunCapture}
		if ref := at.Checkpoint(id); ref != nil {
			captures = append(captures, ref.Capture)
		}
		for _, c := range captures {
			blobs, err := l.ofCapture(ctx, c)
			if err != nil {
				return fmt.Errorf("checkpoint %s: %w", id, err)
			}
			held.Blobs = append(held.Blobs, blobs...)
		}
		l.usage.Held[id] = held
		return nil
	}})
}

func (l *ledger) ofArtifacts(list []state.Artifact) []int {
	if held, known := l.lists[&list[0]]; known {
		return held
	}
	var held []int
	for _, a := range list {
		if blob, ok := l.indexBlob(a.Digest, a.Size); ok {
			held = append(held, blob)
		}
	}
	l.lists[&list[0]] = held
	return held
}

func (l *ledger) ofCapture(ctx context.Context, c *state.Capture) ([]int, error) {
	if c == nil || c.Listing == "" || l.base.captures[c.Listing] {
		return nil, nil
	}
	if held, known := l.captures[c.Listing]; known {
		return held, nil
	}
	var held []int
	err := workspace.References(ctx, l.base.objects, c.Listing, func(digest string, size int64) bool {
		blob, ok := l.indexBlob(digest, size)
		if ok {
			held = append(held, blob)
		}
		return ok
	})
	l.captures[c.Listing] = held
	return held, err
}

// indexBlob returns the index of an object in usage.Blobs. It returns false if base
// needs the object anyway.
func (l *ledger) indexBlob(digest string, known int64) (int, bool) {
	n, ok := parseObject(digest)
	if _, needed := l.base.names[n]; !ok || needed {
		return 0, false
	}
	i, had := l.blobs[n]
	if !had {
		i = len(l.usage.Blobs)
		l.blobs[n] = i
		l.usage.Blobs = append(l.usage.Blobs, 0)
	}
	if !had || known > l.usage.Blobs[i] {
		l.usage.Blobs[i] = stored(l.s, n, known)
	}
	return i, true
}

// stored returns how many bytes an object occupies on disk. Without compression it trusts
// the recorded size, because a stat of each object would cost more than everything else.
// Objects that git keeps count 0.
func stored(s *checkpoint.Store, n objectName, known int64) int64 {
	if known == 0 || known > 0 && !s.Policy().Compress {
		return known
	}
	path, _, err := s.Objects().Path(n.digest())
	if err != nil {
		return 0
	}
	info, err := s.FS().Lstat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
