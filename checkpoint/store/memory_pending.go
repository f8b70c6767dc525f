package store

import "slices"

// change is one operation on names that is not known to be durable. All of its entries
// become durable together.
//
// Journaling file systems (ext4, XFS, btrfs) give that in one transaction, also for a
// rename between two directories. Every durable write relies on it.
type change struct {
	sets []entry
	gone *node // a directory that the operation removed
}

// entry sets a name in a directory to a node, or removes the name if the node is nil.
type entry struct {
	dir  *node
	name string
	to   *node
}

// applyPending performs an operation in the live state, and records it as pending.
func (m *Memory) applyPending(c change) {
	for _, e := range c.sets {
		e.applyTo(e.dir.names)
		m.markChanged(e.dir)
	}
	m.pending = append(m.pending, c)
}

func (e entry) applyTo(names map[string]*node) {
	if e.to == nil {
		delete(names, e.name)
	} else {
		names[e.name] = e.to
	}
}

// syncNames makes the names in a directory durable, and with them the operations that those
// require.
func (m *Memory) syncNames(dir *node) {
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
			e.applyTo(e.dir.durable)
		}
	}
	clear(m.pending[len(left):])
	m.pending = left
}

// follows reports whether an operation requires an earlier one: both are about the same
// name in the same directory, or this one removes the directory that the earlier one
// emptied.
func (c change) follows(earlier change) bool {
	return slices.ContainsFunc(earlier.sets, func(was entry) bool {
		return c.gone == was.dir || slices.ContainsFunc(c.sets, func(e entry) bool {
			return e.dir == was.dir && e.name == was.name
		})
	})
}

// within reports whether an operation is in a directory that an earlier one created.
func (c change) within(earlier change) bool {
	return slices.ContainsFunc(earlier.sets, func(made entry) bool {
		return made.to != nil && slices.ContainsFunc(c.sets, func(e entry) bool { return e.dir == made.to })
	})
}
