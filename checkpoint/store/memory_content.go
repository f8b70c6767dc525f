package store

import "slices"

// sector is what a disk writes whole or not at all.
const sector = 512

// unsynced reports whether the content of a file may be other than the synced one.
func (n *node) unsynced() bool {
	return n.mode.IsRegular() && (n.dirty < len(n.data) || len(n.data) != len(n.synced) || n.cut)
}

// contents lists what may be in a file that is not synced: what was synced first,
// what the running programs see last. CrashStates says why. Of many places at
// which the end may be cut off, it takes the first and the last of each kind.
func (n *node) contents() [][]byte {
	all := [][]byte{n.synced}
	add := func(data []byte) {
		if !slices.ContainsFunc(all, func(had []byte) bool { return string(had) == string(data) }) {
			all = append(all, data)
		}
	}
	kept := n.synced // what lies there where nothing new does
	if n.cut {
		kept = nil
		add(nil)
	}
	begin := max(n.dirty, len(kept)) // from here on the file grew
	for _, at := range []int{n.dirty/sector*sector + sector, (len(n.data) - 1) / sector * sector} {
		if at > n.dirty && at < len(n.data) {
			add(mixed(n.data, kept, at))
			if at < len(kept) {
				add(mixed(kept, n.data, at))
			}
		}
	}
	if begin < len(n.data) {
		grown := len(n.data) - begin
		for _, at := range []int{begin, begin + grown/2, len(n.data) - 1} {
			add(n.data[:at])
		}
		add(zeroed(n.data, begin, len(n.data)))
		if end := begin/sector*sector + sector; end < len(n.data) {
			add(zeroed(n.data, begin, end))
		}
	}
	return append(all, n.data)
}

// mixed is the one content up to a place, and from there on the other.
func mixed(before, behind []byte, at int) []byte {
	if at >= len(behind) {
		return before[:min(at, len(before))]
	}
	return slices.Concat(before[:at], behind[at:])
}

func zeroed(data []byte, from, to int) []byte {
	data = slices.Clone(data)
	clear(data[from:to])
	return data
}
