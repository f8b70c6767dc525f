package view

import (
	"fmt"

	"prdrunner/checkpoint/state"
)

// printReview prints an event of the review before the first phase.
func (v *plain) printReview(e state.Event) {
	switch e := e.(type) {
	case state.ReviewStarted:
		if v.verbose {
			v.printNeutral("", fmt.Sprintf("review started, attempt %d of %d", e.Attempt, e.Max))
		}
	case state.ReviewJudged:
		v.printVerdict(e)
	case state.ReviewFailed:
		v.printFailure("review", "", e.Error)
	case state.ReviewInterrupted:
		v.printNeutral("", "review interrupted", attempt(e.Attempt))
	case state.ReviewOverridden:
		v.printAttention("the review is overridden"+byWhom(e.By), string(e.Reason))
	}
}

func (v *plain) printVerdict(e state.ReviewJudged) {
	what := fmt.Sprintf("review says %s: %d p0, %d p1", e.Verdict, e.P0, e.P1)
	took := millis(e.DurationMS)
	switch e.Verdict {
	case state.VerdictShip, state.VerdictOverridden:
		v.printDone("", what, took)
		return
	case state.VerdictShipWithGates:
		v.printAttention(what, Plural(len(e.Gates), "finding")+" must be settled at the end")
	case state.VerdictDoNotShip:
		v.printLine("", v.page.Paint(Red, "✗"), what, took)
	}
	for _, f := range e.Findings {
		v.page.Line("    %s", OneLine(f.String()))
	}
}
