package inventory

import (
	"crypto/sha256"
	"testing"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/store"
)

// TestInventoryTake: what other sessions need is needed, objects and git references
// alike, and of a size that two of them know differently the larger one counts.
func TestInventoryTake(t *testing.T) {
	t.Parallel()
	part := func(object, listing, ref, session string, size int64) *Inventory {
		inv := &Inventory{References: newReferences(objects.New(store.NewMemory(), "/objects", objects.Options{})), Sessions: map[string]bool{session: true}}
		inv.addObject(digestText(object), size)
		inv.addObject(digestText("both"), size)
		inv.captures[listing], inv.Refs[ref] = true, true
		return inv
	}
	all := part("a", "list-a", "ref-a", "session-a", 1)
	all.mergePart(part("b", "list-b", "ref-b", "session-b", 2))
	all.mergePart(part("c", "list-c", "ref-c", "session-c", -1))
	for _, letter := range []string{"a", "b", "c"} {
		if !all.Needs(digestText(letter)) || !all.captures["list-"+letter] || !all.Refs["ref-"+letter] || !all.Sessions["session-"+letter] {
			t.Errorf("%s: %+v, %v", letter, all.References, all.Sessions)
		}
	}
	n, _ := parseObject(digestText("both"))
	if size := all.names[n]; size != 2 {
		t.Errorf("the size is %d", size)
	}
}

func digestText(text string) string { return objects.DigestOf(sum256(text)) }

func sum256(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}
