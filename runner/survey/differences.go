package survey

import (
	"context"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/workspace"
	"prdrunner/runner/plan"
)

// mostDifferences is of how many edited artifacts the difference is shown.
const mostDifferences = 20

// Differences adds to conflicts what was edited, as far as what was recorded
// is kept. It is shown to people, so that what can't be read is no error.
func (s *Surveyor) Differences(ctx context.Context, st *checkpoint.State, conflicts []plan.Conflict) {
	for i := range conflicts {
		c := &conflicts[i]
		if i == mostDifferences {
			return
		}
		if !c.Kept || c.Found == "" {
			continue
		}
		recorded := s.Recorded(st, c.Workstream, c.Path)
		now, err := s.files.Describe(ctx, string(c.Path))
		if recorded == nil || err != nil {
			continue
		}
		was := EntryOf(*recorded)
		change := workspace.Change{Path: string(c.Path), Kind: workspace.Modified, From: &was, To: &now}
		d, err := s.files.TextDiff(ctx, change, s.files.Open, s.files.OpenNow)
		switch {
		case err != nil:
		case d.Note != "":
			c.Difference = checkpoint.Text(d.Note)
		default:
			c.Difference = checkpoint.Text(s.mask(string(d.Text)))
		}
	}
}
