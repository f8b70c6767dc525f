package retention

import "slices"

// Usage is how many bytes a PRD holds, and what of it goes with its
// checkpoints. Its size is that of the references in it, and so is the cost of
// a pass.
type Usage struct {
	// Total is all that counts against the policy's size, whether or not a
	// checkpoint needs it: journal, document, logs, checkpoint files, objects.
	Total int64
	// Blobs are the sizes of the objects and captures that checkpoints refer
	// to. One that something else needs as well, as the state does its own
	// capture, has size 0: no removal frees it.
	Blobs []int64
	// Held is what each checkpoint holds, by its id. Checkpoints that are in
	// no pass belong here too, where they share blobs with those that are.
	Held map[string]Holding
}

// Holding is what a checkpoint holds.
type Holding struct {
	Own   int64 // bytes of its file
	Blobs []int // what it refers to, as indexes into Usage.Blobs
}

// Freed returns how many bytes the removal of each of these checkpoints frees,
// after those that stand before it.
func (u Usage) Freed(ids []string) []int64 {
	t := newTally(u)
	freed := make([]int64, len(ids))
	for i, id := range ids {
		freed[i] = t.release(id)
	}
	return freed
}

// tally is a Usage while checkpoints are removed from it. A blob is freed with
// the last checkpoint that refers to it.
type tally struct {
	total int64
	usage Usage
	users []int // of each blob
}

func newTally(u Usage) *tally {
	t := &tally{total: u.Total, usage: u, users: make([]int, len(u.Blobs))}
	for _, h := range u.Held {
		for _, blob := range h.Blobs {
			t.users[blob]++
		}
	}
	return t
}

// release removes a checkpoint and returns the bytes that this frees.
func (t *tally) release(id string) int64 {
	held := t.usage.Held[id]
	freed := held.Own
	for _, blob := range held.Blobs {
		t.users[blob]--
		if t.users[blob] == 0 {
			freed += t.usage.Blobs[blob]
		}
	}
	t.total -= freed
	return freed
}

// restore takes a removal back.
func (t *tally) restore(id string) {
	held := t.usage.Held[id]
	t.total += held.Own
	for _, blob := range held.Blobs {
		if t.users[blob] == 0 {
			t.total += t.usage.Blobs[blob]
		}
		t.users[blob]++
	}
}

// clone returns a tally to try removals on.
func (t *tally) clone() *tally {
	return &tally{total: t.total, usage: t.usage, users: slices.Clone(t.users)}
}
