// Package compare lists the differences between two points of a session: its state, its
// files and its commits; and those between two sessions. A point is a checkpoint, the last
// boundary, or the workspace now. The package uses package checkpoint and only reads. It
// decides nothing and prints nothing.
//
// Begin with Points in compare.go, which finds the two points. Sessions in sessions.go
// compares two sessions by their states. state.go compares states, and files.go compares
// files and commits. Versions compares two versions of a single file. To compare another
// part of the state, add it to compareStates.
package compare

import (
	"context"
	"fmt"
	"slices"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// PointWorkspace is a side of a comparison: the current state, with the files that are in
// the workspace now.
const PointWorkspace = "workspace"

// Options selects the points and the level of detail.
type Options struct {
	From string    // a reference for FindCheckpoint, or PointWorkspace
	To   string    // as From; "" is the current state with the files that were recorded last
	Now  time.Time // the time of PointWorkspace
	// Lines counts the changed lines, for which the files are read.
	Lines bool
	// Texts keeps the differences as text, for the files that Wanted selects.
	Texts  bool
	Wanted func(path string) bool // nil selects all files
}

// Comparison lists the differences between two points of a session.
type Comparison struct {
	PRD         string           `json:"prd"`
	Session     string           `json:"session"`
	From        Point            `json:"from"`
	To          Point            `json:"to"`
	State       []ValueChange    `json:"state"` // status, phase, current_step, resumes, error
	Phases      []StepChange     `json:"phases"`
	Workstreams []StepChange     `json:"workstreams"`
	Gates       []StepChange     `json:"gates"`
	Metrics     []ValueChange    `json:"metrics"`
	Outputs     []ValueChange    `json:"outputs"` // named WORKSTREAM.NAME
	Artifacts   []ArtifactChange `json:"artifacts"`
	Files       []FileChange     `json:"files"`
	// NotInFrom and NotInTo are files that only the capture of the other point included,
	// for example because git.mode changed. Whether they changed is unknown.
	NotInFrom []state.Text `json:"not_captured_in_from"`
	NotInTo   []state.Text `json:"not_captured_in_to"`
	// OnlyArtifacts says that one side has no capture, so that Files contains only recorded
	// artifacts.
	OnlyArtifacts bool       `json:"only_artifacts"`
	Git           *GitChange `json:"git,omitempty"` // nil without git
}

// Point is a side of a comparison.
type Point struct {
	ID       string     `json:"id,omitempty"` // of the checkpoint; "" for other points
	Name     string     `json:"name"`         // the id, "now" or "workspace"
	Seq      uint64     `json:"seq"`
	Step     int        `json:"step"`
	StepName string     `json:"step_name,omitempty"`
	At       time.Time  `json:"at"`
	FilesAt  *time.Time `json:"files_at,omitempty"` // time of the capture

	state *state.State
	git   *state.Git // as the checkpoint recorded it, or nil
	// files are the files of the point. If known is false, they are only its artifacts.
	files *workspace.Listing
	known bool
}

// Same reports whether the points are equal.
func (c *Comparison) Same() bool {
	return len(c.State)+len(c.Phases)+len(c.Workstreams)+len(c.Gates)+len(c.Metrics)+len(c.Outputs)+
		len(c.Artifacts)+len(c.Files)+len(c.NotInFrom)+len(c.NotInTo) == 0 && (c.Git == nil || len(c.Git.Commits)+len(c.Git.Gone) == 0)
}

// Has reports whether one of the sides has a file that wanted selects.
func (c *Comparison) Has(wanted func(path string) bool) bool {
	for _, p := range []Point{c.From, c.To} {
		if p.files != nil && slices.ContainsFunc(p.files.Entries, func(e workspace.Entry) bool { return wanted(e.Path) }) {
			return true
		}
	}
	return false
}

// Points compares two points of a session. It takes no lock and changes nothing. Without a
// workspace it compares only the state.
func Points(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, prd string, o Options) (c *Comparison, err error) {
	err = s.Read(prd, func(snap *checkpoint.Snapshot) (amiss bool, err error) {
		if snap.State == nil {
			return false, fmt.Errorf("compare checkpoints of %s: %w", prd, state.ErrNoCheckpoint)
		}
		c, err = points(ctx, s, w, snap.State, o)
		return false, err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// points compares two points of a session with the current state stands.
func points(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, stands *state.State, o Options) (*Comparison, error) {
	from, err := findPoint(s, stands, o.From, o.Now)
	if err != nil {
		return nil, err
	}
	to, err := findPoint(s, stands, o.To, o.Now)
	if err != nil {
		return nil, err
	}
	c := &Comparison{PRD: stands.PRD, Session: stands.Session, From: *from, To: *to}
	c.compareStates(from.state, to.state)
	if w != nil {
		if err := c.compareFiles(ctx, s, w, stands, o); err != nil {
			return nil, err
		}
		if c.Git, err = compareGit(ctx, w, c.From, c.To); err != nil {
			return nil, err
		}
	}
	c.fillLists()
	return c, nil
}

// findPoint returns a side of the comparison.
func findPoint(s *checkpoint.Store, stands *state.State, ref string, now time.Time) (*Point, error) {
	if ref == "" || ref == PointWorkspace {
		p := &Point{Name: "now", Seq: stands.Seq, Step: stands.CurrentStep(), StepName: stands.StepName(), At: stands.UpdatedAt, state: stands}
		if ref == PointWorkspace {
			p.Name, p.At = PointWorkspace, now.UTC().Truncate(time.Millisecond)
		}
		return p, nil
	}
	found, err := stands.FindCheckpoint(ref)
	if err != nil {
		return nil, fmt.Errorf("find checkpoint %q of %s: %w", ref, stands.PRD, err)
	}
	file, err := s.ReadFile(stands, found)
	if err != nil {
		return nil, err
	}
	return &Point{
		ID: found.ID, Name: found.ID, Seq: found.Seq, Step: found.Step, StepName: found.StepName, At: found.CreatedAt,
		state: file.State, git: found.Git,
	}, nil
}

// fillLists replaces nil lists by empty ones, so that JSON shows [].
func (c *Comparison) fillLists() {
	for _, list := range []*[]ValueChange{&c.State, &c.Metrics, &c.Outputs} {
		*list = append([]ValueChange{}, *list...)
	}
	for _, list := range []*[]StepChange{&c.Phases, &c.Workstreams, &c.Gates} {
		*list = append([]StepChange{}, *list...)
	}
	c.Artifacts = append([]ArtifactChange{}, c.Artifacts...)
	c.Files = append([]FileChange{}, c.Files...)
	for _, list := range []*[]state.Text{&c.NotInFrom, &c.NotInTo} {
		*list = append([]state.Text{}, *list...)
	}
}
