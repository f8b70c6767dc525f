package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"iter"
	"maps"
	"slices"
)

// maxAllStates is the number of states up to which CrashStates yields all.
const maxAllStates = 256

// Crash returns the durable state: after a power cut that loses everything that is not
// synced. It does not change m.
func (m *Memory) Crash() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	points := m.points()
	return m.crashed(points, make(fate, len(points)))
}

// CrashStates yields the possible states after a power cut: the synced state, with any
// subset of the unsynced changes. If there are more than maxAllStates, it yields those in
// which at most depth operations and files differ from all the others, which are all lost
// or all kept. The first state is that of Crash, and the live state is included. Some
// states may be equal, as Sum tells. CrashStates does not change m, which is locked during
// the iteration.
//
// POSIX promises only fsync, and file systems differ beyond that. A state is possible here
// if some file system in use can leave it:
//
//   - Everything that Sync and SyncDir have returned from is there.
//   - An operation on names is atomic (one transaction). It requires the earlier operations
//     on the same names and the creation of its directory. Otherwise each survives
//     independently: btrfs, ext2 and FAT may write a later operation before an earlier one.
//   - The name of a file does not imply its content. With delayed allocation a rename can
//     be on disk before the bytes of the file (ext4 with noauto_da_alloc, XFS), so that the
//     file is empty or partial. ext4 prevents this for a file that replaces another, which
//     helps programs that do not sync; nothing here relies on it.
//   - An append survives up to any byte: writes are split into pages, and the length counts
//     bytes. Or the length survives, with zeros in place of all bytes or of the first
//     sector (ext4 with data=writeback, XFS after a resize; not data=ordered).
//   - An overwrite survives sector by sector, each of 512 bytes and atomic.
//   - A file that was opened with O_TRUNC may be empty, without its old or new bytes.
func (m *Memory) CrashStates(depth int) iter.Seq[*Memory] {
	return func(yield func(*Memory) bool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		points := m.points()
		seen := map[string]bool{}
		for f := range crashFates(points, depth) {
			if f = m.consistent(f, points); seen[string(f)] {
				continue
			}
			seen[string(f)] = true
			if !yield(m.crashed(points, f)) {
				return
			}
		}
	}
}

// point is one change that may be on disk or not: an operation on names, or the content of
// a file.
type point struct {
	requires []int // indexes of the earlier operations that this one needs
	file     *node
	contents [][]byte // possible contents: the synced one first, the live one last
}

// outcomes returns the number of states of a point. 0 is lost, the last one is kept.
func (p point) outcomes() int {
	if p.file != nil {
		return len(p.contents)
	}
	return 2
}

// fate is the outcome of each point.
type fate []byte

// points lists the unsynced operations, followed by the unsynced files.
func (m *Memory) points() []point {
	var points []point
	files := map[*node]bool{}
	var walk func(n *node)
	walk = func(n *node) {
		if n == nil || files[n] {
			return
		}
		files[n] = true
		if n.unsynced() {
			points = append(points, point{file: n, contents: n.contents()})
		}
		for _, names := range []map[string]*node{n.durable, n.names} {
			for _, name := range slices.Sorted(maps.Keys(names)) {
				walk(names[name])
			}
		}
	}
	for i, c := range m.pending {
		var stands []int
		for j, earlier := range m.pending[:i] {
			if c.follows(earlier) || c.within(earlier) {
				stands = append(stands, j)
			}
		}
		points = append(points, point{requires: stands})
	}
	walk(m.root)
	for _, c := range m.pending {
		for _, e := range c.sets {
			walk(e.to)
		}
	}
	return points
}

// consistent drops from a fate each operation that requires a lost one.
func (m *Memory) consistent(f fate, points []point) fate {
	f = slices.Clone(f)
	for i := range m.pending {
		if slices.ContainsFunc(points[i].requires, func(on int) bool { return f[on] == 0 }) {
			f[i] = 0
		}
	}
	return f
}

// crashFates yields the fates that CrashStates tries.
func crashFates(points []point, depth int) iter.Seq[fate] {
	all := 1
	for _, p := range points {
		if all = all * p.outcomes(); all > maxAllStates {
			break
		}
	}
	return func(yield func(fate) bool) {
		lost, kept := make(fate, len(points)), make(fate, len(points))
		for i, p := range points {
			kept[i] = byte(p.outcomes() - 1)
		}
		if all <= maxAllStates {
			variations(lost, points, 0, len(points), yield)
			return
		}
		// A fate that loses an operation also loses those that require it. A fate that
		// keeps one must keep those that it requires, or consistent would drop it.
		ok := variations(lost, points, 0, depth, func(f fate) bool { return yield(withRequired(f, points)) })
		_ = ok && variations(kept, points, 0, depth, yield)
	}
}

// withRequired adds to a fate each operation that a kept one requires.
func withRequired(f fate, points []point) fate {
	f = slices.Clone(f)
	for i := range slices.Backward(points) {
		for _, on := range points[i].requires {
			if f[i] != 0 {
				f[on] = 1
			}
		}
	}
	return f
}

// variations yields base, and all fates that differ from it at no more than most points, at
// index from or later. It reports whether to go on.
func variations(base fate, points []point, from, most int, yield func(fate) bool) bool {
	if from == len(points) || most == 0 {
		return yield(base)
	}
	if !variations(base, points, from+1, most, yield) {
		return false
	}
	was := base[from]
	defer func() { base[from] = was }()
	for v := range byte(points[from].outcomes()) {
		if v == was {
			continue
		}
		base[from] = v
		if !variations(base, points, from+1, most-1, yield) {
			return false
		}
	}
	return true
}

// crashed returns the file system after a power cut with the given fate.
func (m *Memory) crashed(points []point, f fate) *Memory {
	c := crash{names: map[*node]map[string]*node{}, contents: map[*node][]byte{}, copies: map[*node]*node{}}
	for i, p := range points {
		if p.file != nil {
			c.contents[p.file] = p.contents[f[i]]
			continue
		}
		if f[i] == 0 {
			continue
		}
		for _, e := range m.pending[i].sets {
			if c.names[e.dir] == nil {
				c.names[e.dir] = maps.Clone(e.dir.durable)
			}
			e.applyTo(c.names[e.dir])
		}
	}
	return &Memory{root: c.copyNode(m.root), tick: m.tick}
}

// crash holds the entries of directories and the contents of files that differ from the
// durable ones.
type crash struct {
	names    map[*node]map[string]*node
	contents map[*node][]byte
	copies   map[*node]*node
}

// copyNode copies a node. Both copies share their bytes: appending is safe, and overwriting
// copies them first.
func (c *crash) copyNode(n *node) *node {
	if to := c.copies[n]; to != nil {
		return to
	}
	to := &node{mode: n.mode, changed: n.changed, number: n.number}
	c.copies[n] = to
	switch {
	case n.mode.IsDir():
		names, ok := c.names[n]
		if !ok {
			names = n.durable
		}
		to.names = make(map[string]*node, len(names))
		for name, child := range names {
			to.names[name] = c.copyNode(child)
		}
		to.durable = maps.Clone(to.names)
	case n.mode.IsRegular():
		data, ok := c.contents[n]
		if !ok {
			data = n.synced
		}
		n.dataShared, to.dataShared = true, true
		to.data, to.synced = slices.Clip(data), slices.Clip(data)
		to.dirty = len(data)
	default:
		to.data = n.data
	}
	return to
}

// Sum is a checksum of all names, modes and contents.
func (m *Memory) Sum() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := sha256.New()
	m.root.hashInto(h)
	return hex.EncodeToString(h.Sum(nil))
}

func (n *node) hashInto(h hash.Hash) {
	_, _ = fmt.Fprintf(h, "%o %d %d\n", n.mode, len(n.data), len(n.names)) // a hash takes everything
	_, _ = h.Write(n.data)
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		_, _ = fmt.Fprintf(h, "%d %s\n", len(name), name)
		n.names[name].hashInto(h)
	}
}
