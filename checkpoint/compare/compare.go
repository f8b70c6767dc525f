// Package compare says what leads from one point of a session to another: of
// its state, its files and its commits. It stands above package checkpoint,
// which knows nothing of it, and only reads.
//
// compare.go finds the two points; state.go compares what is known of them,
// and files.go what lies in the workspace and in git.
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

// PointWorkspace names, as a side of a comparison, where the session stands
// with the files as they are at this moment.
const PointWorkspace = "workspace"

// Options say what is compared, and how closely.
type Options struct {
	From string    // a reference, as FindCheckpoint takes it, or PointWorkspace
	To   string    // likewise; "": where the session stands, with the files that it recorded last
	Now  time.Time // the time of PointWorkspace
	// Lines counts the lines that changed, for which the files are read.
	Lines bool
	// Texts keeps the differences themselves, of the files that Wanted names.
	Texts  bool
	Wanted func(path string) bool // nil: all
}

// Comparison is what leads from one point of a session to another.
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
	// NotInFrom and NotInTo are files that only the capture of the other point looked at, as
	// it does with another git.mode. Whether they changed is not known.
	NotInFrom []checkpoint.Text `json:"not_captured_in_from"`
	NotInTo   []checkpoint.Text `json:"not_captured_in_to"`
	// OnlyArtifacts says that one side was never captured, so that Files are
	// recorded artifacts and nothing else.
	OnlyArtifacts bool       `json:"only_artifacts"`
	Git           *GitChange `json:"git,omitempty"` // nil: git has no part in it
}

// Point is a side of a comparison.
type Point struct {
	ID       string     `json:"id,omitempty"` // of the checkpoint, "" where it is none
	Name     string     `json:"name"`         // the id, "now" or "workspace"
	Seq      uint64     `json:"seq"`
	Step     int        `json:"step"`
	StepName string     `json:"step_name,omitempty"`
	At       time.Time  `json:"at"`
	FilesAt  *time.Time `json:"files_at,omitempty"` // when its files were captured

	state *checkpoint.State
	git   *checkpoint.Git // of a checkpoint
	// files are those of the point; known is false where only the artifacts
	// are.
	files *workspace.Listing
	known bool
}

// Same reports whether nothing differs.
func (c *Comparison) Same() bool {
	return len(c.State)+len(c.Phases)+len(c.Workstreams)+len(c.Gates)+len(c.Metrics)+len(c.Outputs)+
		len(c.Artifacts)+len(c.Files)+len(c.NotInFrom)+len(c.NotInTo) == 0 && (c.Git == nil || len(c.Git.Commits)+len(c.Git.Gone) == 0)
}

// Has reports whether one of the sides has a file of those that are wanted.
func (c *Comparison) Has(wanted func(path string) bool) bool {
	for _, p := range []Point{c.From, c.To} {
		if p.files != nil && slices.ContainsFunc(p.files.Entries, func(e workspace.Entry) bool { return wanted(e.Path) }) {
			return true
		}
	}
	return false
}

// Points compares two points of a session. It takes no lock and changes
// nothing. Without a workspace it looks at the state only.
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

// points compares two points of a session that stands at a state.
func points(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, stands *checkpoint.State, o Options) (*Comparison, error) {
	from, err := point(s, stands, o.From, o.Now)
	if err != nil {
		return nil, err
	}
	to, err := point(s, stands, o.To, o.Now)
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
	c.fill()
	return c, nil
}

// point finds a side of a comparison, of a session that stands at a state.
func point(s *checkpoint.Store, stands *checkpoint.State, ref string, now time.Time) (*Point, error) {
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

// fill makes the lists that are empty ones that are there.
func (c *Comparison) fill() {
	for _, list := range []*[]ValueChange{&c.State, &c.Metrics, &c.Outputs} {
		*list = append([]ValueChange{}, *list...)
	}
	for _, list := range []*[]StepChange{&c.Phases, &c.Workstreams, &c.Gates} {
		*list = append([]StepChange{}, *list...)
	}
	c.Artifacts = append([]ArtifactChange{}, c.Artifacts...)
	c.Files = append([]FileChange{}, c.Files...)
	for _, list := range []*[]checkpoint.Text{&c.NotInFrom, &c.NotInTo} {
		*list = append([]checkpoint.Text{}, *list...)
	}
}
