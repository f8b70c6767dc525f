package mask

import (
	"maps"
	"slices"
)

// automaton searches for a set of patterns in one pass (Aho and Corasick, 1975). Its nodes
// are the prefixes of the patterns; node 0 is the empty prefix. The children of a node are
// a linked list, because most nodes have one child. Those of node 0 are a table, because a
// stream without secrets stays there.
type automaton struct {
	root  [256]int32
	nodes []node
}

type node struct {
	label    byte
	child    int32 // the first child; 0 if there is none
	sibling  int32 // the next child of the same parent; 0 if there is none
	fallback int32 // the node of the longest proper suffix
	depth    int32 // the length of the prefix
	longest  int32 // the length of the longest pattern that ends here, or 0
	open     int32 // the length of the longest suffix that a pattern continues
}

func newAutomaton(patterns map[string]bool) *automaton {
	a := &automaton{nodes: make([]node, 1)}
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		a.addPattern(pattern)
	}
	a.linkFailures()
	return a
}

// addPattern adds the nodes of a pattern.
func (a *automaton) addPattern(pattern string) {
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

// linkFailures sets the fallback links, in the order of depth, because those of the
// children derive from that of their parent.
func (a *automaton) linkFailures() {
	queue := []int32{0}
	for len(queue) > 0 {
		parent := queue[0]
		queue = queue[1:]
		for child := a.nodes[parent].child; child != 0; child = a.nodes[child].sibling {
			n := &a.nodes[child]
			if parent != 0 {
				n.fallback = a.advance(a.nodes[parent].fallback, n.label)
			}
			if n.longest == 0 {
				n.longest = a.nodes[n.fallback].longest
			}
			if n.open = n.depth; n.child == 0 {
				n.open = a.nodes[n.fallback].open
			}
			queue = append(queue, child)
		}
	}
}

// advance returns the node for the longest suffix of the input that is a prefix of a
// pattern, after one more byte.
func (a *automaton) advance(at int32, b byte) int32 {
	for at != 0 {
		if child := a.childOf(at, b); child != 0 {
			return child
		}
		at = a.nodes[at].fallback
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
