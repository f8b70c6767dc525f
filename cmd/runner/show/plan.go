package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/plan"
)

// OnceChoices tells the user how to decide about workstreams that must happen only once
// and have happened before.
func OnceChoices(w io.Writer, cmdline advice.CommandLine, st *state.State, planned *plan.Plan, build string) {
	var choices []advice.Suggestion
	for _, phase := range planned.Phases {
		for _, s := range phase.Steps {
			if s.Decision != plan.Uncertain || s.Happened == nil {
				continue
			}
			name := text.ShellWord(s.Name)
			counts := "counts it as done, once a build has paused at it"
			if st != nil && st.Status != state.StatusComplete {
				if rec := st.Workstream(s.Name); rec != nil && rec.Status == state.Uncertain {
					counts = "counts it as done"
				}
			}
			choices = append(choices, advice.Suggest(build+" --repeat "+name, "runs it again"),
				advice.Suggest("resolve "+planned.PRD+" "+name+" --done", counts))
		}
	}
	if len(choices) == 0 {
		return
	}
	var b strings.Builder
	advice.WriteSuggestions(&b, cmdline, choices...)
	fmt.Fprintf(w, "\nA build pauses at what has happened before (exit code 3), until you decide:\n%s", b.String())
}

// ConflictChoices tells the user how to decide about edited files. Without a decision, a
// build does not begin.
func ConflictChoices(w io.Writer, cmdline advice.CommandLine, planned *plan.Plan, resume string) {
	anew := false
	for _, phase := range planned.Phases {
		anew = anew || slices.ContainsFunc(phase.Steps, func(s plan.Step) bool {
			return s.Refused != "" && (s.Decision == plan.Rerun || s.Decision == plan.Cached)
		})
	}
	choices := []advice.Suggestion{advice.Suggest(resume+" --on-conflict restore", "puts them back as they were")}
	if anew {
		choices[0].Purpose = "makes them again, and a checkpoint keeps the edit"
	} else {
		choices = append(choices, advice.Suggest(resume+" --on-conflict keep", "takes them as they are"))
	}
	var b strings.Builder
	advice.WriteSuggestions(&b, cmdline, choices...)
	fmt.Fprintf(w, "\nDecide about them:\n%s", b.String())
}
