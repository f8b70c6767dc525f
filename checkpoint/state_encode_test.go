package checkpoint_test

import (
	"bytes"
	"testing"

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
)

// TestStateIsWrittenAsJSON: state.Encode, which writes a state piece by piece, must write
// the same bytes as encoding/json, even if a text contains the placeholders that Encode
// replaces.
func TestStateIsWrittenAsJSON(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	journal, states := closed(f)
	if len(journal) == 0 {
		t.Fatal("there is no journal")
	}
	odd := states[len(states)-1].Clone()
	odd.Title = `"phases":null`
	odd.Phases[0].Title = `"workstreams":null <&>`
	odd.Phases = append(odd.Phases, &state.Phase{Name: "none"}, &state.Phase{Name: "empty", Workstreams: []*state.Workstream{}})
	for _, s := range append(states[1:], odd, &state.State{}, &state.State{Phases: []*state.Phase{}}) {
		want, err := state.EncodeJSON(s)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := state.Encode(&got, s); err != nil || got.String() != string(want) {
			t.Errorf("got %s, %v\nwant %s", &got, err, want)
		}
	}
}
