package plan

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"prdrunner/checkpoint/state"
)

// addStaleIssue compares the issue with the one that the session recorded. Changed labels
// are a warning; a changed text, and an issue that can't be read, put the session in doubt.
func (pl *Planner) addStaleIssue(plan *Plan) {
	was, is := pl.st.Issue, pl.facts.Issue
	switch {
	case pl.facts.IssueError != nil:
		name := ""
		if was != nil {
			name = was.Name()
		}
		plan.Stale = append(plan.Stale, Stale{What: "issue", Path: state.Text(name), Problem: state.Text(pl.facts.IssueError.Error())})
	case pl.st.Session == "" || was == nil || is == nil:
	case was.Number != is.Number || was.Digest != is.Digest:
		plan.Stale = append(plan.Stale, Stale{What: "issue", Path: state.Text(is.Name()), Old: was.Digest, New: is.Digest, Difference: issueDifference(was, is)})
	}
	if pl.st.Session == "" || was == nil || is == nil || was.Number != is.Number {
		return
	}
	if changed := was.DescribeLabels(is); changed != "" {
		plan.IssueChange = state.Text(fmt.Sprintf("issue %s changed: %s", is.Name(), changed))
	}
}

// issueDifference returns the unified difference between the texts of an issue.
func issueDifference(was, is *state.Issue) state.Text {
	text := func(i *state.Issue) []byte {
		return fmt.Appendf(nil, "%s\n\n%s\n", i.Title, strings.TrimRight(string(i.Body), "\n"))
	}
	unified := diff.Diff(was.Name()+" as it was", text(was), is.Name()+" as it is", text(is))
	_, unified, _ = bytes.Cut(unified, []byte("\n")) // the first line names the two texts once more
	return state.Text(unified)
}
