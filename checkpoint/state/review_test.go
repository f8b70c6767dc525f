package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKeptReview: a rollback gives no attempt at the review back.
func TestKeptReview(t *testing.T) {
	t.Parallel()
	ship := &Review{Status: Passed, Attempt: 1, JudgedAttempt: 1, Max: 2, Runs: 1, Verdict: VerdictShip}
	stops := &Review{Status: Failed, Attempt: 2, JudgedAttempt: 2, Max: 2, Runs: 3, Verdict: VerdictDoNotShip}
	failed := &Review{Status: Failed, Attempt: 2, Max: 2, Runs: 4, Error: &Failure{Message: "broke"}}
	shipLater := *ship
	shipLater.Runs = 3
	for name, c := range map[string]struct{ then, now, want *Review }{
		"no review":                     {nil, nil, nil},
		"before the verdict that stops": {nil, stops, stops},
		"before an attempt":             {nil, failed, failed},
		"between attempts":              {&Review{Status: Failed, Attempt: 1, JudgedAttempt: 1, Max: 2, Runs: 1, Verdict: VerdictDoNotShip}, stops, stops},
		"to a verdict that goes on":     {ship, stops, &shipLater},
		"after it":                      {ship, ship, ship},
		"before it":                     {nil, ship, &Review{Status: Pending, Attempt: 1, Max: 2, Runs: 1}},
	} {
		if diff := cmp.Diff(c.want, keptReview(c.then, c.now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestReviewOfAdopted: a verdict with which the session went on is void after an adoption, and
// one that stops it is not.
func TestReviewOfAdopted(t *testing.T) {
	t.Parallel()
	for verdict, holds := range map[ReviewVerdict]bool{VerdictShip: false, VerdictShipWithGates: false, VerdictOverridden: false, VerdictDoNotShip: true} {
		s := &State{Review: &Review{Verdict: verdict, Definition: "d", Judged: "j"}}
		before := s.Clone()
		s.TakeOver(3)
		if got := s.Review.Definition == "d" && s.Review.Judged == "j"; got != holds {
			t.Errorf("%s: holds %t, want %t", verdict, got, holds)
		}
		if before.Review.Definition != "d" {
			t.Errorf("%s: a copy of the state has changed", verdict)
		}
	}
}
