package store

import "slices"

// sector is the number of bytes that a disk writes atomically.
const sector = 512

// unsynced reports whether the content of a file may differ from the synced content.
func (n *node) unsynced() bool {
	return n.mode.IsRegular() && (n.dirty < len(n.data) || len(n.data) != len(n.synced) || n.truncated)
}

// contents lists the possible contents of a file after a power cut: the synced one first,
// the live one last. CrashStates gives the rules. Of the many offsets at which a write can
// be cut off, it takes the first and the last of each kind.
func (n *node) contents() [][]byte {
	all := [][]byte{n.synced}
	add := func(data []byte) {
		if !slices.ContainsFunc(all, func(had []byte) bool { return string(had) == string(data) }) {
			all = append(all, data)
		}
	}
	kept := n.synced // old bytes, where the new ones are lost
	if n.truncated {
		kept = nil
		add(nil)
	}
	begin := max(n.dirty, len(kept)) // bytes from here on are appended
	for _, at := range []int{n.dirty/sector*sector + sector, (len(n.data) - 1) / sector * sector} {
		if at > n.dirty && at < len(n.data) {
			add(splice(n.data, kept, at))
			if at < len(kept) {
				add(splice(kept, n.data, at))
			}
		}
	}
	if begin < len(n.data) {
		grown := len(n.data) - begin
		for _, at := range []int{begin, begin + grown/2, len(n.data) - 1} {
			add(n.data[:at])
		}
		add(withZeros(n.data, begin, len(n.data)))
		if end := begin/sector*sector + sector; end < len(n.data) {
			add(withZeros(n.data, begin, end))
		}
	}
	return append(all, n.data)
}

// splice returns before up to an offset, and behind from there on.
func splice(before, behind []byte, at int) []byte {
	if at >= len(behind) {
		return before[:min(at, len(before))]
	}
	return slices.Concat(before[:at], behind[at:])
}

func withZeros(data []byte, from, to int) []byte {
	data = slices.Clone(data)
	clear(data[from:to])
	return data
}
