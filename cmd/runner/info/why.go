package info

import (
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/why"
)

// WhyReport is what `why --json` prints.
type WhyReport struct {
	FormatVersion string       `json:"format_version"`
	PRD           string       `json:"prd"`
	Status        state.Status `json:"status,omitempty"` // of the session; "": there is none
	Running       bool         `json:"running"`          // a runner works on the session now
	Chain         state.Text   `json:"chain"`            // what the next build does, and its first cause, in one line
	why.Explanation
	Commands []state.Text `json:"commands"` // to type next
}

// NewWhyReport returns the JSON form of an explanation.
func NewWhyReport(cmdline advice.CommandLine, prd string, status state.Status, e why.Explanation, next []advice.Suggestion) WhyReport {
	r := WhyReport{FormatVersion: FormatVersion, PRD: prd, Status: status, Explanation: e, Chain: state.Text(e.Next.Chain()), Commands: []state.Text{}}
	for _, s := range next {
		r.Commands = append(r.Commands, state.Text(cmdline.Command(s.Command)))
	}
	return r
}
