package inventory

import (
	"crypto/sha256"
	"strings"
	"testing"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
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

// TestEverythingRecordedIsCounted: whatever a commit records is found, and an event that
// records nothing adds nothing.
func TestEverythingRecordedIsCounted(t *testing.T) {
	t.Parallel()
	list := []state.Artifact{{Path: "a", Digest: digestText("a"), Size: 1}}
	work := state.Work{Artifacts: list}
	st := &state.State{Phases: []*state.Phase{{Workstreams: []*state.Workstream{{Name: "w", Status: state.Completed, Artifacts: list}}}}}
	for name, tt := range map[string]struct {
		commit state.Commit
		want   bool
	}{
		"a state":                     {state.Commit{State: st}, true},
		"a failed attempt":            {state.Commit{Events: []state.Event{state.WorkstreamAttemptFailed{Left: list}}}, true},
		"a failure":                   {state.Commit{Events: []state.Event{state.WorkstreamFailed{Left: list}}}, true},
		"a success":                   {state.Commit{Events: []state.Event{state.WorkstreamSucceeded{Work: work}}}, true},
		"a result in a work tree":     {state.Commit{Events: []state.Event{state.WorkstreamSucceeded{Held: &state.Held{Before: list}}}}, true},
		"a completion with work":      {state.Commit{Events: []state.Event{state.WorkstreamCompleted{Work: &work}}}, true},
		"a completion":                {state.Commit{Events: []state.Event{state.WorkstreamCompleted{}}}, false},
		"an edit":                     {state.Commit{Events: []state.Event{state.WorkstreamEdited{Artifacts: list}}}, true},
		"a capture":                   {state.Commit{Events: []state.Event{state.WorkspaceCaptured{Capture: workspace.Capture{Listing: digestText("a")}}}}, true},
		"a capture without a listing": {state.Commit{Events: []state.Event{state.WorkspaceCaptured{}}}, false},
		"a rollback with a state":     {state.Commit{Events: []state.Event{state.RollbackCompleted{State: st}}}, true},
		"a rollback of the files":     {state.Commit{Events: []state.Event{state.RollbackCompleted{}}}, false},
		"a later event":               {state.Commit{Events: []state.Event{state.SessionResumed{}, state.WorkstreamSucceeded{Work: work}}}, true},
	} {
		r := newReferences(objects.New(store.NewMemory(), "/objects", objects.Options{}))
		r.shallow = true
		if err := r.addCommit(t.Context(), tt.commit); err != nil {
			t.Fatal(err)
		}
		if got := r.Needs(digestText("a")); got != tt.want || (len(r.names) > 0) != tt.want {
			t.Errorf("%s: the object is found: %t, want %t; %d objects", name, got, tt.want, len(r.names))
		}
	}
}

// TestObjectsWithoutAName: a text that is no digest refers to no object.
func TestObjectsWithoutAName(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "sha256:", "sha256:ab", "sha512:" + digestText("a")[7:], digestText("a") + "0", "sha256:" + strings.Repeat("x", 64)} {
		r := newReferences(nil)
		if r.addObject(text, 1) || r.Needs(text) || len(r.names) > 0 {
			t.Errorf("%q is an object", text)
		}
	}
}

func digestText(text string) string { return objects.DigestOf(sum256(text)) }

func sum256(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}
