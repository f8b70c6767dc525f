package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"prdrunner/checkpoint/compare"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// SessionDiff shows the differences between two sessions.
func SessionDiff(w io.Writer, r info.SessionDiffReport) error {
	b := newPage(w)
	b.title("", "Difference of two sessions of "+r.PRD)
	b.facts(fact("From", sessionLine(r.From)), fact("To", sessionLine(r.To)))
	durations := durationLines(r.Durations)
	if r.Same && len(durations) == 0 {
		b.WriteString("\nNothing differs.\n")
	}
	writeChanged(b, "Result", sessionLines(r.State))
	writeChanged(b, "Decisions", valueLines(byName(r.Decisions)))
	writeChanged(b, "Phases", stepLines(endedPhases(r)))
	writeChanged(b, "Workstreams", stepLines(r.Workstreams))
	writeChanged(b, "Gates", stepLines(r.Gates))
	writeChanged(b, "Durations", durations)
	writeChanged(b, "Metrics changes", valueLines(byName(r.Metrics)))
	writeChanged(b, "Output changes", append(valueLines(byName(r.Outputs)), artifactLines(r.Artifacts, "only in the second", "only in the first")...))
	return b.end()
}

// endedPhases returns the changes of phases, in which one that has not ended is unfinished if its session is not running.
func endedPhases(r info.SessionDiffReport) []compare.StepChange {
	const unfinished = "unfinished"
	phases := slices.Clone(r.Phases)
	for i := range phases {
		p := &phases[i]
		if p.From == state.Running && !r.From.Running {
			p.From = unfinished
		}
		if p.To == state.Running && !r.To.Running {
			p.To = unfinished
		}
	}
	return phases
}

// byName returns changes in the natural order of their names.
func byName(changes []compare.ValueChange) []compare.ValueChange {
	return slices.SortedStableFunc(slices.Values(changes), func(a, b compare.ValueChange) int { return view.CompareNatural(a.Name, b.Name) })
}

// sessionLines returns a line for each difference of what is on record of two sessions themselves. A digest
// says only that something differs.
func sessionLines(changes []compare.ValueChange) []string {
	inWords := map[string]string{"current_step": "steps", "iteration_count": "iteration", "issue_labels": "labels of the issue", "error": "error that ended it"}
	var lines []string
	for _, c := range changes {
		switch c.Name {
		case "pipeline", "document", "issue":
			lines = append(lines, "- "+digestLine(c))
		default:
			c.Name = cmp.Or(inWords[c.Name], c.Name)
			lines = append(lines, valueLines([]compare.ValueChange{c})...)
		}
	}
	return lines
}

// digestLine says that a file or the issue differs.
func digestLine(c compare.ValueChange) string {
	switch {
	case c.From == nil:
		return "only the second has the " + c.Name
	case c.To == nil:
		return "only the first has the " + c.Name
	}
	return "the " + c.Name + " has changed"
}

// line describes a session in one line.
func sessionLine(s info.HistorySession) string {
	return fmt.Sprintf("session %s, begun %s, %s, took %s", state.ShortSession(s.Session), s.CreatedAt.UTC().Format(time.DateTime), s.Result(), info.Took(s.RanMS))
}

// durationLines returns a line for each duration that differs by more than always varies.
func durationLines(changes []info.DurationChange) []string {
	var lines []string
	for _, d := range changes {
		if d.Differs {
			lines = append(lines, fmt.Sprintf("- %s %s: %s → %s (%+d %%)", d.Kind, d.Name, info.Took(d.FromMS), info.Took(d.ToMS),
				(d.ToMS-d.FromMS)*100/max(1, d.FromMS)))
		}
	}
	return lines
}
