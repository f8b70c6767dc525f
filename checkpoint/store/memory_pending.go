package store

import "slices"

// change is one operation on names that is not known to be on disk: all of its
// entries are, or none.
//
// That an operation is atomic, a rename between two directories too, is what
// journaling file systems give (ext4, XFS, btrfs: one transaction), and what
// every durable write rests on.
type change struct {
	sets []entry
	gone *node // a directory that lost its last name by it
}

// entry is a name in a directory, and what it stands for from then on; nil: for
// nothing.
type entry struct {
	dir  *node
	name string
	to   *node
}

// alter carries out an operation on names in the live plane, and takes it down
// as one that the other plane does not have.
func (m *Memory) alter(c change) {
	for _, e := range c.sets {
		e.put(e.dir.names)
		m.touch(e.dir)
	}
	m.pending = append(m.pending, c)
}

func (e entry) put(names map[string]*node) {
	if e.to == nil {
		delete(names, e.name)
	} else {
		names[e.name] = e.to
	}
}

// settle makes the names in a directory durable, and with them the operations
// that led to them.
func (m *Memory) settle(dir *node) {
	if len(m.pending) == 0 {
		return
	}
	done := make([]bool, len(m.pending))
	for i, c := range m.pending {
		done[i] = slices.ContainsFunc(c.sets, func(e entry) bool { return e.dir == dir })
	}
	for i := range slices.Backward(m.pending) {
		for j := 0; done[i] && j < i; j++ {
			done[j] = done[j] || m.pending[i].follows(m.pending[j])
		}
	}
	left := m.pending[:0]
	for i, c := range m.pending {
		if !done[i] {
			left = append(left, c)
			continue
		}
		for _, e := range c.sets {
			e.put(e.dir.durable)
		}
	}
	clear(m.pending[len(left):])
	m.pending = left
}

// follows reports whether an operation cannot be on disk without an earlier one:
// both are about one name, which lies in one place, or it removes a directory
// that the earlier one emptied.
func (c change) follows(earlier change) bool {
	return slices.ContainsFunc(earlier.sets, func(was entry) bool {
		return c.gone == was.dir || slices.ContainsFunc(c.sets, func(e entry) bool {
			return e.dir == was.dir && e.name == was.name
		})
	})
}

// within reports whether an operation is in a directory that an earlier one made:
// a file system has no entries without the directory that holds them.
func (c change) within(earlier change) bool {
	return slices.ContainsFunc(earlier.sets, func(made entry) bool {
		return made.to != nil && slices.ContainsFunc(c.sets, func(e entry) bool { return e.dir == made.to })
	})
}
