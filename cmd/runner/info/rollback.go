package info

import (
	"fmt"
	"strings"
	"time"

	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/runner/view"
)

// RollbackPreviewReport is what `checkpoint rollback --dry-run --json` prints.
type RollbackPreviewReport struct {
	FormatVersion string              `json:"format_version"`
	PRD           string              `json:"prd"`
	DryRun        bool                `json:"dry_run"`
	To            string              `json:"to_checkpoint"`
	ToStep        int                 `json:"to_step"`
	PassedOver    []string            `json:"passed_over"` // damaged checkpoints that the reference does not count
	From          string              `json:"from_checkpoint,omitempty"`
	FromStep      int                 `json:"from_step"`
	Scope         state.RollbackScope `json:"scope"`
	Undoes        string              `json:"undoes,omitempty"`
	Earlier       *earlierState       `json:"earlier_state,omitempty"` // the state that is restored instead, because the files do not prove a later one
	Discards      []string            `json:"discards"`
	Uncertain     []string            `json:"uncertain"`
	Invalidates   []string            `json:"invalidates"`
	FilesOf       uint64              `json:"files_of_seq,omitempty"` // the commit that captured the files
	Files         []fileChange        `json:"files"`
	Missing       []FileProblem       `json:"missing"`
	Blocked       []FileProblem       `json:"blocked"` // files that can't be changed because of an obstacle
	Losses        []rollback.Loss     `json:"losses"`  // artifacts that sessions of other PRDs lose
	leftAlone
	Git      *gitReset                 `json:"git,omitempty"`
	Finishes *UnfinishedRollbackReport `json:"finishes,omitempty"` // the rollback that was cut short and is finished first
}

// NewRollbackPreviewReport returns the JSON form of a planned rollback.
func NewRollbackPreviewReport(prd string, plan *rollback.Plan) RollbackPreviewReport {
	p := RollbackPreviewReport{
		FormatVersion: FormatVersion, PRD: prd, DryRun: true, To: plan.Target.ID, ToStep: plan.ToStep(), FromStep: plan.Step,
		PassedOver: append([]string{}, plan.PassedOver...),
		Scope:      plan.Scope, Undoes: plan.Undoes, Earlier: newEarlierState(plan.Earlier), Discards: []string{}, Uncertain: append([]string{}, plan.Uncertain...),
		Invalidates: append([]string{}, plan.Invalidates...), Files: []fileChange{}, Missing: []FileProblem{}, Blocked: []FileProblem{},
	}
	if plan.Current != nil {
		p.From = plan.Current.ID
	}
	if plan.FilesOf != nil {
		p.FilesOf = plan.FilesOf.Seq
	}
	for _, w := range plan.Discards {
		p.Discards = append(p.Discards, w.Name)
	}
	for _, c := range plan.Changes {
		p.Files = append(p.Files, newFileChange(c))
	}
	for _, m := range plan.Missing {
		p.Missing = append(p.Missing, FileProblem{state.Text(m.Path), state.Text(m.Reason)})
	}
	for _, o := range plan.Obstacles {
		p.Blocked = append(p.Blocked, FileProblem{state.Text(o.Path), state.Text(o.Reason)})
	}
	p.Losses = append([]rollback.Loss{}, plan.Losses...)
	p.leftAlone = newLeftAlone(plan.Untouched)
	p.Finishes = NewUnfinishedRollbackReport(plan.Finish)
	if g := plan.Git; g != nil {
		p.Git = &gitReset{Branch: state.Text(g.Branch), From: g.From, To: g.To, Absent: g.Absent, Discards: []string{}, Pushed: append([]string{}, g.Pushed...)}
		for _, c := range g.Discard {
			p.Git.Discards = append(p.Git.Discards, c.Commit)
		}
	}
	return p
}

// leftAlone lists the files that a rollback does not change.
type leftAlone struct {
	LeftOut  []state.Text `json:"left_out"` // sensitive
	Unstable []state.Text `json:"unstable"` // not captured, since they kept changing
	Special  []state.Text `json:"special"`  // not captured, since they could not be read or are not regular files
	Sparse   []state.Text `json:"sparse"`   // not checked out at the checkpoint
}

func newLeftAlone(l rollback.Untouched) leftAlone {
	return leftAlone{LeftOut: state.Texts(l.LeftOut), Unstable: state.Texts(l.Unstable), Special: state.Texts(l.Special), Sparse: state.Texts(l.Sparse)}
}

// earlierState is the moment whose state a rollback restores instead of its target's.
type earlierState struct {
	Seq       uint64     `json:"seq"`
	At        time.Time  `json:"captured_at"`
	Step      int        `json:"step"`
	StepName  string     `json:"step_name,omitempty"`
	RunsAgain []string   `json:"runs_again"`
	Reason    state.Text `json:"reason"`
}

func newEarlierState(e *rollback.EarlierState) *earlierState {
	if e == nil {
		return nil
	}
	view := &earlierState{Seq: e.Seq, At: e.At, Step: e.Step, StepName: e.StepName, RunsAgain: []string{}, Reason: state.Text(e.Reason)}
	for _, w := range e.Again {
		view.RunsAgain = append(view.RunsAgain, w.Name)
	}
	return view
}

// fileChange is what a rollback does to a file.
type fileChange struct {
	Path state.Text           `json:"path"`
	Kind workspace.ChangeKind `json:"change"`
	Now  string               `json:"digest_now,omitempty"` // of the file before the change, "sha256:…"; "": there is none
}

func newFileChange(c workspace.Change) fileChange {
	change := fileChange{Path: state.Text(c.Path), Kind: c.Kind}
	if c.From != nil {
		change.Now = c.From.Digest
	}
	return change
}

// FileProblem is a file that can't be restored.
type FileProblem struct {
	Path   state.Text `json:"path"`
	Reason state.Text `json:"reason"`
}

// gitReset is what a rollback does to the branch.
type gitReset struct {
	Branch   state.Text `json:"branch,omitempty"`
	From     string     `json:"from_commit"`
	To       string     `json:"to_commit"`
	Absent   bool       `json:"to_commit_absent,omitempty"` // not in this repository
	Discards []string   `json:"discards"`
	Pushed   []string   `json:"pushed"`
}

// SomeFiles lists the first of some files.
func SomeFiles(paths []state.Text) string {
	const most = 5
	var named []string
	for i, path := range paths {
		if i == most {
			named = append(named, fmt.Sprintf("and %d more", len(paths)-most))
			break
		}
		named = append(named, view.OneLine(string(path)))
	}
	return strings.Join(named, ", ")
}

// RollbackReport is what `checkpoint rollback --json` prints.
type RollbackReport struct {
	FormatVersion string                `json:"format_version"`
	PRD           string                `json:"prd"`
	Rollback      *state.RollbackRecord `json:"rollback"`
	Status        state.Status          `json:"status"`
	Step          int                   `json:"step"`
	Written       int                   `json:"files_written"`
	Deleted       int                   `json:"files_deleted"`
	Invalidated   []string              `json:"invalidated"`
	Losses        []rollback.Loss       `json:"losses"` // artifacts that sessions of other PRDs lost
	leftAlone
	Absent string `json:"to_commit_absent,omitempty"` // the commit to which the branch was not reset
}

// NewRollbackReport returns the JSON form of a rollback. st is the state after it.
func NewRollbackReport(prd string, st *state.State, done *rollback.Result) RollbackReport {
	return RollbackReport{
		FormatVersion: FormatVersion, PRD: prd, Rollback: &done.RollbackRecord, Status: st.Status, Step: st.CurrentStep(),
		Written: done.Written, Deleted: done.Deleted, Invalidated: append([]string{}, done.Invalidated...), Losses: append([]rollback.Loss{}, done.Losses...), leftAlone: newLeftAlone(done.Untouched), Absent: done.Absent,
	}
}

// Progress returns the number of the last phase that is done, and the number of phases.
func Progress(st *state.State) string {
	next := nextPhase(st)
	if next == 1 {
		return fmt.Sprintf("no phase of %d completed", len(st.Phases))
	}
	return fmt.Sprintf("Phase %d of %d completed", next-1, len(st.Phases))
}

// nextPhase returns the number of the first phase that is not done. If all are done, that
// is the number of phases plus one.
func nextPhase(st *state.State) int {
	for i, p := range st.Phases {
		if p.Status != state.Completed && p.Status != state.Skipped {
			return i + 1
		}
	}
	return len(st.Phases) + 1
}

// UnfinishedRollbackReport is what --json prints of a rollback that is finished first.
type UnfinishedRollbackReport struct {
	To      string       `json:"to_checkpoint"`
	Edited  []state.Text `json:"edited"` // files edited since the rollback was cut short
	Refused state.Text   `json:"refused,omitempty"`
}

// NewUnfinishedRollbackReport returns the JSON form of a rollback that is finished first,
// nil if there is none.
func NewUnfinishedRollbackReport(f *rollback.FinishPlan) *UnfinishedRollbackReport {
	if f == nil {
		return nil
	}
	p := &UnfinishedRollbackReport{To: f.To, Edited: state.Texts(f.Edited)}
	if f.Moved != nil {
		p.Refused = state.Text(f.Moved.Error())
	}
	return p
}

// editedSummary lists the first edited files in one line.
func editedSummary(edited []state.Text) string {
	const most = 5
	if len(edited) == 0 {
		return ""
	}
	names := make([]string, 0, most)
	for _, path := range edited[:min(most, len(edited))] {
		names = append(names, string(path))
	}
	if more := len(edited) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ") + "; a checkpoint keeps these before any is overwritten or deleted"
}
