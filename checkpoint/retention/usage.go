package retention

import "slices"

// Usage is the size of a PRD, and the part that each checkpoint holds. The memory and
// the time of a pass grow with the number of its references.
type Usage struct {
	// Total is everything that counts against MaxSizeMB: journal, document, logs,
	// checkpoint files, and objects, whether a checkpoint refers to them or not.
	Total int64
	// Blobs holds the sizes of the objects and captures that checkpoints refer to. A blob
	// that something else needs too, such as the capture of the current state, has size 0:
	// no removal frees it.
	Blobs []int64
	// Held is the part of each checkpoint, by its id. It includes checkpoints outside of
	// the pass that share blobs with those in it.
	Held map[string]Holding
}

// Holding is the part of the usage that belongs to a checkpoint.
type Holding struct {
	Own   int64 // bytes of the checkpoint's file
	Blobs []int // indexes into Usage.Blobs
}

// Freed returns how many bytes the removal of each checkpoint frees, after the removals of
// those before it in ids.
func (u Usage) Freed(ids []string) []int64 {
	t := newTally(u)
	freed := make([]int64, len(ids))
	for i, id := range ids {
		freed[i] = t.release(id)
	}
	return freed
}

// tally is a Usage while checkpoints are removed. Removing the last checkpoint that refers
// to a blob frees the blob.
type tally struct {
	total      int64
	usage      Usage
	references []int // of each blob
}

func newTally(u Usage) *tally {
	t := &tally{total: u.Total, usage: u, references: make([]int, len(u.Blobs))}
	for _, h := range u.Held {
		for _, blob := range h.Blobs {
			t.references[blob]++
		}
	}
	return t
}

// release removes a checkpoint and returns the number of bytes that this frees.
func (t *tally) release(id string) int64 {
	held := t.usage.Held[id]
	freed := held.Own
	for _, blob := range held.Blobs {
		t.references[blob]--
		if t.references[blob] == 0 {
			freed += t.usage.Blobs[blob]
		}
	}
	t.total -= freed
	return freed
}

// restore undoes a release.
func (t *tally) restore(id string) {
	held := t.usage.Held[id]
	t.total += held.Own
	for _, blob := range held.Blobs {
		if t.references[blob] == 0 {
			t.total += t.usage.Blobs[blob]
		}
		t.references[blob]++
	}
}

// copy returns an independent tally, to try removals.
func (t *tally) copy() *tally {
	return &tally{total: t.total, usage: t.usage, references: slices.Clone(t.references)}
}
