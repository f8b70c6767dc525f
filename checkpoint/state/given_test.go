package state

import (
	"fmt"
	"testing"
)

// TestGivenValues: a state keeps the newest values of a variable, each once. A later
// value does not change an older state.
func TestGivenValues(t *testing.T) {
	t.Parallel()
	var g Given
	states := []Given{g}
	for i := range 2 * MaxGivenValues {
		g = g.merged(map[string]string{"floor": fmt.Sprint(i), "same": `"x"`})
		states = append(states, g)
	}
	if len(g["floor"]) != MaxGivenValues || g["floor"][MaxGivenValues-1] != fmt.Sprint(2*MaxGivenValues-1) || len(g["same"]) != 1 {
		t.Errorf("the recorded values are %v", g)
	}
	if len(states[0]) != 0 || len(states[1]["floor"]) != 1 || states[1]["floor"][0] != "0" {
		t.Errorf("an older state became %v", states[1])
	}
	if g = g.merged(map[string]string{"floor": "9"}); g["floor"][MaxGivenValues-1] != "9" || len(g["floor"]) != MaxGivenValues {
		t.Errorf("a value that is given again is not the last: %v", g["floor"])
	}
	if ago := g.Ago(1); ago["floor"] != fmt.Sprint(2*MaxGivenValues-1) || ago["same"] != "" || g.Ago(0)["same"] != `"x"` {
		t.Errorf("the value before the last is %v", ago)
	}
	const sumOfX = "sha256:ba2df4903a2c14e86dc3bcca58911b44ac1d2514b7227bf6eb08cfb978f55a1b"
	if g.Value("same", sumOfX) != `"x"` || g.Value("floor", sumOfX) != "" {
		t.Error("want Value to find only values with the digest")
	}
}
