package info

import (
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/runner/view"
)

// SafetyRestoreReport is what `safety restore --json` prints.
type SafetyRestoreReport struct {
	FormatVersion string           `json:"format_version"`
	Checkpoint    string           `json:"checkpoint"`
	DryRun        bool             `json:"dry_run"`
	Files         []fileChange     `json:"files"`
	Index         []state.Text     `json:"index"` // paths whose entries in git's index change
	Keys          []keyEdit        `json:"state_keys"`
	Databases     []databaseChange `json:"databases"`
	Newer         []FileProblem    `json:"newer"`                 // newer work that is overwritten, only by force
	Missing       []FileProblem    `json:"missing"`               // files whose bytes are lost or damaged
	Blocked       []FileProblem    `json:"blocked"`               // files that can't be changed because of an obstacle
	Uncopied      []FileProblem    `json:"uncopied"`              // files that are overwritten or removed, only by force, and can't be copied before
	LeftAlone     []state.Text     `json:"left_alone"`            // files in scope that the checkpoint does not have, since they looked sensitive or could not be read
	StagedBack    []state.Text     `json:"staged_back,omitempty"` // files that were committed since, and that git's index has as they were before
	Undo          string           `json:"undo,omitempty"`
	UndoLacks     []state.Text     `json:"undo_lacks,omitempty"` // files that were overwritten or removed, and that the undo does not have
	Completes     bool             `json:"completes,omitempty"`  // a restore that was interrupted
	GivesUp       string           `json:"gives_up,omitempty"`   // the checkpoint whose interrupted restore is given up
	Done          restored         `json:"done"`                 // how much was restored; 0 in a dry run
}

type restored struct {
	Written   int      `json:"written"` // files
	Deleted   int      `json:"deleted"` // files
	Keys      int      `json:"keys"`
	Databases []string `json:"databases"` // the names of their savepoint blocks
}

func newRestored(done *safety.Restore) restored {
	return restored{done.Written, done.Deleted, done.Keys, append([]string{}, done.Databases...)}
}

type keyEdit struct {
	Key  string      `json:"key"`
	From *state.Text `json:"from"` // null: not set
	To   *state.Text `json:"to"`
}

// describe counts what was restored: the files, unless only other things were.
func (d restored) describe() string {
	var parts []string
	if d.Written+d.Deleted > 0 || d.Keys+len(d.Databases) == 0 {
		parts = append(parts, fmt.Sprintf("%s written, %s deleted", view.Plural(d.Written, "file"), view.Plural(d.Deleted, "file")))
	}
	if d.Keys > 0 {
		parts = append(parts, view.Plural(d.Keys, "key")+" set")
	}
	for _, name := range d.Databases {
		parts = append(parts, "database "+name+" restored")
	}
	return strings.Join(parts, ", ")
}

// Describe says in one line how much was restored.
func (r SafetyRestoreReport) Describe() string { return r.Done.describe() }

// DescribeRestore says in one line how much was restored.
func DescribeRestore(done *safety.Restore) string { return newRestored(done).describe() }

// NewSafetyRestoreReport returns the JSON form of a restore. done is nil for a dry run.
func NewSafetyRestoreReport(p *safety.RestorePlan, done *safety.Restore) SafetyRestoreReport {
	r := SafetyRestoreReport{
		FormatVersion: FormatVersion, Checkpoint: p.ID, DryRun: done == nil, Files: []fileChange{}, Index: []state.Text{}, Keys: []keyEdit{},
		Databases: newDatabaseChanges(p.DatabaseChanges), Done: restored{Databases: []string{}},
		Newer: []FileProblem{}, Missing: []FileProblem{}, Blocked: []FileProblem{}, Uncopied: []FileProblem{}, LeftAlone: []state.Text{},
	}
	if half := p.Interrupted; p.GivesUp() {
		r.GivesUp = half.ID
	} else {
		r.Completes = half != nil
	}
	if done != nil {
		r.Undo, r.Done = done.Undo, newRestored(done)
	}
	for _, c := range p.Changes {
		r.Files = append(r.Files, newFileChange(c))
	}
	for _, e := range p.Index {
		r.Index = append(r.Index, state.Text(e.Path))
	}
	for _, e := range p.KeyEdits {
		edit := keyEdit{Key: e.Name}
		if e.From != nil {
			edit.From = (*state.Text)(&e.From.Value)
		}
		if e.To != nil {
			edit.To = (*state.Text)(&e.To.Value)
		}
		r.Keys = append(r.Keys, edit)
	}
	for _, n := range p.Newer {
		r.Newer = append(r.Newer, FileProblem{state.Text(n.Path), state.Text(n.Why)})
		if n.Committed && slices.ContainsFunc(p.Index, func(e git.IndexEntry) bool { return e.Path == n.Path }) {
			r.StagedBack = append(r.StagedBack, state.Text(n.Path))
		}
	}
	for _, m := range p.Missing {
		r.Missing = append(r.Missing, FileProblem{state.Text(m.Path), state.Text(m.Reason)})
	}
	for _, path := range p.Uncopied {
		r.Uncopied = append(r.Uncopied, FileProblem{state.Text(path), "it looks sensitive, or can't be read"})
	}
	if l := p.Listing; l != nil {
		r.LeftAlone = state.Texts(slices.Concat(l.LeftOut, l.Unstable, l.Special))
	}
	for _, o := range p.Obstacles {
		r.Blocked = append(r.Blocked, FileProblem{state.Text(o.Path), state.Text(o.Reason)})
	}
	return r
}
