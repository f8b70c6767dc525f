package checkpoint

import "testing"

// TestRefsOfTwoStateDirectories: with the same session, imported, they share
// no reference, and neither owns the other's.
func TestRefsOfTwoStateDirectories(t *testing.T) {
	t.Parallel()
	one, two := inMemory(t).run(), inMemory(t).run()
	defer kill(t, one)
	defer kill(t, two)
	id, err := one.makeRefsID()
	must(t, err)
	other, err := two.makeRefsID()
	must(t, err)
	again, err := one.makeRefsID()
	must(t, err)
	if id != again || id == other {
		t.Fatalf("ids %q, then %q, of another directory %q", id, again, other)
	}
	s := one.State()
	known := map[string]bool{sessionRefs(s): true}
	for ref, want := range map[string]bool{
		captureRef(s, id, 3):                    true,
		captureRef(s, id, 3) + "-2":             true,
		captureRef(s, other, 3):                 false,
		"refs/runner/PRD-009/S1/3":              true,
		"refs/runner/PRD-009/S2/3":              false,
		"refs/runner/PRD-009/S2-" + id + "/3":   false,
		"refs/runner/PRD-010/S1-" + id + "/3":   false,
		"refs/runner/x":                         false,
		"refs/runner/PRD-009/S1-" + id + "/a/3": false,
	} {
		if own, err := one.store.ownsRef(known, ref); own != want || err != nil {
			t.Errorf("owns %s: %v, %v", ref, own, err)
		}
	}
}
