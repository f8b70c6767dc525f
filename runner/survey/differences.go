package survey

import (
	"context"
	"path/filepath"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/runner/plan"
)

// mostDifferences bounds how many edited artifacts are shown with their difference.
const mostDifferences = 20

// Differences adds to conflicts how the files were edited, if the recorded bytes are kept.
// The differences are only shown to the user, so a file that can't be read is no error.
func (s *Surveyor) Differences(ctx context.Context, st *state.State, conflicts []plan.Conflict) {
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
		d, err := workspace.DiffText(ctx, change, s.files.Contents().Open, s.files.OpenNow)
		switch {
		case err != nil:
		case d.Note != "":
			c.Difference = state.Text(d.Note)
		default:
			c.Difference = state.Text(s.mask(string(d.Text)))
		}
	}
}

// documentDifference returns the difference between the document of the pipeline as the
// session recorded it and as it is now, "" if there is none or the old text is not kept.
func (s *Surveyor) documentDifference(ctx context.Context, f *plan.Facts, st *state.State) state.Text {
	if st == nil || st.Document == nil || f.Document == nil || st.Document.Digest == f.Document.Digest {
		return ""
	}
	for _, c := range f.ChangedFiles {
		if c.Path != filepath.ToSlash(s.p.Document) || c.From == nil || c.From.Digest != st.Document.Digest {
			continue
		}
		d, err := workspace.DiffText(ctx, c, s.files.Contents().Open, s.files.OpenNow)
		if err != nil {
			return "" // to show it is not worth a failure
		}
		if d.Note != "" {
			return state.Text(d.Note)
		}
		return state.Text(s.mask(string(d.Text)))
	}
	return ""
}
