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

// allBelow is how many states there may be at most for all of them to be tried.
const allBelow = 256

// Crash returns what would be there after a power cut now, if nothing survived
// but what was synced: of the names only those, and of each file only that
// content. The receiver is left as it is.
func (m *Memory) Crash() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	points := m.points()
	return m.after(points, make(fate, len(points)))
}

// CrashStates yields what could be there after a power cut now: what was synced,
// and of what was not, anything. Where that comes to more than some hundred
// states, it yields those in which at most depth operations and files fared
// otherwise than all the others, which are lost, or are all there. The first is
// that of Crash, and what the running programs see is among them. Some may be
// equal: Sum tells. The receiver is left as it is, and waits while they are looked at.
//
// POSIX promises nothing but fsync, and file systems differ in what they give
// beyond it, so that a state is legal here if some disk in use could leave it:
//
//   - What Sync and SyncDir have returned from is there.
//   - An operation on names is there whole or not at all (one transaction), and
//     not without those before it on the same names, nor before the directory
//     that it happens in. Otherwise each survives by itself: btrfs, and ext2
//     and FAT all the more, bring a later one to disk before an earlier one.
//   - The name of a file says nothing of its content. With delayed allocation a
//     rename is on disk before the bytes of the file (ext4 with noauto_da_alloc,
//     XFS), which has none then, or a part of them. That ext4 avoids it where a
//     file replaces another is a courtesy to programs that don't sync.
//   - What was appended is there up to any byte: programs' writes are split into
//     pages, and the length of a file is counted in bytes. Or the length is
//     there, and zeros in place of the bytes, all or the first sector of them
//     (ext4 with data=writeback, XFS after a resize; data=ordered has it not).
//   - What was overwritten is there sector by sector, 512 bytes of each that is
//     written whole or not at all.
//   - A file that was opened with O_TRUNC may be empty, with nothing of either.
func (m *Memory) CrashStates(depth int) iter.Seq[*Memory] {
	return func(yield func(*Memory) bool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		points := m.points()
		seen := map[string]bool{}
		for f := range fates(points, depth) {
			if f = m.consistent(f, points); seen[string(f)] {
				continue
			}
			seen[string(f)] = true
			if !yield(m.after(points, f)) {
				return
			}
		}
	}
}

// point is something that is not on disk for certain: an operation on names, or
// the content of a file.
type point struct {
	stands   []int // of an operation: those before it that it is not there without
	file     *node
	contents [][]byte // what it may be: the synced one first, the live one last
}

// fates returns how many states a point has; 0 is lost, the last is kept.
func (p point) fates() int {
	if p.file != nil {
		return len(p.contents)
	}
	return 2
}

// fate is what becomes of each point.
type fate []byte

// points lists the operations that are not synced, and behind them the files.
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
		points = append(points, point{stands: stands})
	}
	walk(m.root)
	for _, c := range m.pending {
		for _, e := range c.sets {
			walk(e.to)
		}
	}
	return points
}

// consistent is a fate in which nothing is kept without what it stands on. What
// was changed by losing one thing goes with it.
func (m *Memory) consistent(f fate, points []point) fate {
	f = slices.Clone(f)
	for i := range m.pending {
		if slices.ContainsFunc(points[i].stands, func(on int) bool { return f[on] == 0 }) {
			f[i] = 0
		}
	}
	return f
}

// fates yields the fates of all points that are to be tried.
func fates(points []point, depth int) iter.Seq[fate] {
	all := 1
	for _, p := range points {
		if all = all * p.fates(); all > allBelow {
			break
		}
	}
	return func(yield func(fate) bool) {
		lost, kept := make(fate, len(points)), make(fate, len(points))
		for i, p := range points {
			kept[i] = byte(p.fates() - 1)
		}
		if all <= allBelow {
			otherwise(lost, points, 0, len(points), yield)
			return
		}
		// Losing what others stand on loses them too, and keeping one keeps what
		// it stands on, or it would be lost again.
		ok := otherwise(lost, points, 0, depth, func(f fate) bool { return yield(bringing(f, points)) })
		_ = ok && otherwise(kept, points, 0, depth, yield)
	}
}

// bringing is a fate in which what is kept brings with it what it stands on.
func bringing(f fate, points []point) fate {
	f = slices.Clone(f)
	for i := range slices.Backward(points) {
		for _, on := range points[i].stands {
			if f[i] != 0 {
				f[on] = 1
			}
		}
	}
	return f
}

// otherwise yields a fate, and all that differ from it at no more than a number
// of points from the given one on. It reports whether to go on.
func otherwise(base fate, points []point, from, most int, yield func(fate) bool) bool {
	if from == len(points) || most == 0 {
		return yield(base)
	}
	if !otherwise(base, points, from+1, most, yield) {
		return false
	}
	was := base[from]
	defer func() { base[from] = was }()
	for v := range byte(points[from].fates()) {
		if v == was {
			continue
		}
		base[from] = v
		if !otherwise(base, points, from+1, most-1, yield) {
			return false
		}
	}
	return true
}

// after is what is there after a power cut with the given fate.
func (m *Memory) after(points []point, f fate) *Memory {
	c := crash{names: map[*node]map[string]*node{}, contents: map[*node][]byte{}, seen: map[*node]*node{}}
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
			e.put(c.names[e.dir])
		}
	}
	return &Memory{root: c.copy(m.root), tick: m.tick}
}

// crash is what is there of directories and files where it is not what was
// synced.
type crash struct {
	names    map[*node]map[string]*node
	contents map[*node][]byte
	seen     map[*node]*node
}

// copy copies what is there of a node. Its bytes are shared, not copied: both
// sides append to them, and copy them before they overwrite any.
func (c *crash) copy(n *node) *node {
	if to := c.seen[n]; to != nil {
		return to
	}
	to := &node{mode: n.mode, changed: n.changed, number: n.number}
	c.seen[n] = to
	switch {
	case n.mode.IsDir():
		names, ok := c.names[n]
		if !ok {
			names = n.durable
		}
		to.names = make(map[string]*node, len(names))
		for name, child := range names {
			to.names[name] = c.copy(child)
		}
		to.durable = maps.Clone(to.names)
	case n.mode.IsRegular():
		data, ok := c.contents[n]
		if !ok {
			data = n.synced
		}
		n.lent, to.lent = true, true
		to.data, to.synced = slices.Clip(data), slices.Clip(data)
		to.dirty = len(data)
	default:
		to.data = n.data
	}
	return to
}

// Sum names what a program can read here: two file systems with the same names,
// modes and contents have the same sum.
func (m *Memory) Sum() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := sha256.New()
	m.root.sum(h)
	return hex.EncodeToString(h.Sum(nil))
}

func (n *node) sum(h hash.Hash) {
	_, _ = fmt.Fprintf(h, "%o %d %d\n", n.mode, len(n.data), len(n.names)) // a hash takes everything
	_, _ = h.Write(n.data)
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		_, _ = fmt.Fprintf(h, "%d %s\n", len(name), name)
		n.names[name].sum(h)
	}
}
