package mask

import (
	"maps"
	"slices"
)

// automaton finds a set of patterns in one pass (Aho and Corasick, 1975). Its
// nodes are the prefixes of the patterns; node 0 is the empty one. The children
// of a node are a linked list, since nearly every node has one; those of node 0
// are a table, since that is where a stream without secrets stays.
type automaton struct {
	root  [256]int32
	nodes []node
}

type node struct {
	label   byte
	child   int32 // the first; 0: none
	sibling int32 // the next child of the same parent; 0: none
	fail    int32 // the longest proper suffix that is a prefix of a pattern
	depth   int32 // the length of the prefix
	longest int32 // the length of the longest pattern that ends here; 0: none does
	open    int32 // the length of the longest suffix that a pattern can go on from
}

func newAutomaton(patterns map[string]bool) *automaton {
	a := &automaton{nodes: make([]node, 1)}
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		a.add(pattern)
	}
	a.link()
	return a
}

// add adds the nodes of a pattern.
func (a *automaton) add(pattern string) {
	at := int32(0)
	for i := range len(pattern) {
		next := a.childOf(at, pattern[i])
		if next == 0 {
			next = int32(len(a.nodes))
			a.nodes = append(a.nodes, node{label: pattern[i], depth: int32(i + 1), sibling: a.nodes[at].child})
			a.nodes[at].child = next
			if at == 0 {
				a.root[pattern[i]] = next
			}
		}
		at = next
	}
	a.nodes[at].longest = a.nodes[at].depth
}

// link sets the fail links, in the order of depth: those of a node's children
// follow from its own.
func (a *automaton) link() {
	queue := []int32{0}
	for len(queue) > 0 {
		parent := queue[0]
		queue = queue[1:]
		for child := a.nodes[parent].child; child != 0; child = a.nodes[child].sibling {
			n := &a.nodes[child]
			if parent != 0 {
				n.fail = a.next(a.nodes[parent].fail, n.label)
			}
			if n.longest == 0 {
				n.longest = a.nodes[n.fail].longest
			}
			if n.open = n.depth; n.child == 0 {
				n.open = a.nodes[n.fail].open
			}
			queue = append(queue, child)
		}
	}
}

// next returns the node for the longest suffix of what was read that is a prefix
// of a pattern, after one more byte.
func (a *automaton) next(at int32, b byte) int32 {
	for at != 0 {
		if child := a.childOf(at, b); child != 0 {
			return child
		}
		at = a.nodes[at].fail
	}
	return a.root[b]
}

func (a *automaton) childOf(at int32, b byte) int32 {
	if at == 0 {
		return a.root[b]
	}
	for child := a.nodes[at].child; child != 0; child = a.nodes[child].sibling {
		if a.nodes[child].label == b {
			return child
		}
	}
	return 0
}
