package info

import (
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/state"
)

// Prune is what a prune removes from several PRDs, as the views show it.
type Prune struct {
	Pruned  []*prune.Pruned
	Owned   map[string]error // the PRDs that were skipped because another process owns them, with the errors
	Objects Collection
	Foreign []prune.ForeignRefs // with --dry-run
	DryRun  bool
	Reasons bool // list why the other checkpoints are kept
}

// Collection is the outcome of collecting objects.
type Collection struct {
	Done prune.Collected
	Why  string // why nothing was collected; "" if something could be
}

// Count counts the checkpoints and the archived sessions that are removed.
func (p *Prune) Count() (checkpoints, sessions int) {
	for _, plan := range p.Pruned {
		checkpoints += len(plan.Checkpoints)
		sessions += len(plan.Sessions)
	}
	return checkpoints, sessions
}

// Count counts the objects, leftovers and references of git that were collected.
func (c *Collection) Count() int {
	return c.Done.Objects + c.Done.Leftovers + c.Done.Discarded + len(c.Done.Refs)
}

// PruneReport is what `checkpoint prune --json` and `delete --json` print.
type PruneReport struct {
	FormatVersion string        `json:"format_version"`
	DryRun        bool          `json:"dry_run"`
	PRDs          []prunedPRD   `json:"prds"`
	Collected     collectedAll  `json:"collected"`
	Foreign       []foreignRefs `json:"of_other_state_directories,omitempty"` // with --dry-run
}

// prunedPRD lists the checkpoints and sessions of a PRD that were removed, or would be.
type prunedPRD struct {
	PRD         string              `json:"prd"`
	Checkpoints []removedCheckpoint `json:"checkpoints"` // oldest first
	Sessions    []removedSession    `json:"sessions"`
	Kept        int                 `json:"kept"`  // checkpoints
	Keeps       []keptCheckpoint    `json:"keeps"` // with reasons, oldest first
	Lost        []state.Text        `json:"lost"`  // the steps and rollbacks that can no longer be reached or undone
	FreedBytes  int64               `json:"freed_bytes"`
	OverBytes   int64               `json:"over_bytes"` // bytes above max_size_mb, because no more may be removed
	Doubted     int                 `json:"doubted"`    // checkpoints that are too old if the clock is right
	Warnings    []state.Text        `json:"warnings"`
	Locked      state.Text          `json:"locked,omitempty"` // why nothing was removed
}

type removedCheckpoint struct {
	ID        string        `json:"id"`
	Seq       uint64        `json:"seq"`
	Step      int           `json:"step"`
	Trigger   state.Trigger `json:"trigger"`
	CreatedAt time.Time     `json:"created_at"`
	Reason    string        `json:"reason"`
	Bytes     int64         `json:"bytes"`
}

type keptCheckpoint struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

type removedSession struct {
	Path     string    `json:"path"` // in the state directory
	Complete bool      `json:"complete"`
	EndedAt  time.Time `json:"ended_at"`
	Reason   string    `json:"reason"`
	Bytes    int64     `json:"bytes"`
}

// collectedAll counts the objects that were collected in the whole state directory.
type collectedAll struct {
	Objects   int        `json:"objects"`
	Leftovers int        `json:"leftovers"` // temporary files
	Bytes     int64      `json:"bytes"`
	GitRefs   []string   `json:"git_refs"`
	Kept      int        `json:"kept"`             // objects
	Why       state.Text `json:"reason,omitempty"` // why nothing was collected
}

func newPrunedPRD(p *prune.Pruned) prunedPRD {
	out := prunedPRD{
		PRD: p.PRD, Checkpoints: []removedCheckpoint{}, Sessions: []removedSession{}, Kept: p.Kept, Keeps: []keptCheckpoint{},
		Lost: state.Texts(p.Lost), FreedBytes: p.Freed, OverBytes: p.Over, Doubted: p.Doubted,
		Warnings: state.Texts(p.Warnings),
	}
	for _, c := range p.Checkpoints {
		out.Checkpoints = append(out.Checkpoints, removedCheckpoint{c.ID, c.Seq, c.Step, c.Trigger, c.CreatedAt, c.Why, c.Bytes})
	}
	for _, c := range p.Keeps {
		out.Keeps = append(out.Keeps, keptCheckpoint{c.ID, c.Why})
	}
	for _, s := range p.Sessions {
		out.Sessions = append(out.Sessions, removedSession{s.ID, s.Complete, s.EndedAt, s.Why, s.Bytes})
	}
	return out
}

func (c *Collection) report() collectedAll {
	return collectedAll{
		Objects: c.Done.Objects, Leftovers: c.Done.Leftovers, Bytes: c.Done.Bytes,
		GitRefs: append([]string{}, c.Done.Refs...), Kept: c.Done.Kept, Why: state.Text(c.Why),
	}
}

// Report returns the JSON form of a prune.
func (p *Prune) Report() PruneReport {
	report := PruneReport{FormatVersion: FormatVersion, DryRun: p.DryRun, PRDs: []prunedPRD{}, Collected: p.Objects.report()}
	for _, plan := range p.Pruned {
		one := newPrunedPRD(plan)
		if why := p.Owned[plan.PRD]; why != nil {
			one.Locked = state.Text(why.Error())
		}
		report.PRDs = append(report.PRDs, one)
	}
	for _, of := range p.Foreign {
		report.Foreign = append(report.Foreign, newForeignRefs(of))
	}
	for prd, why := range p.Owned {
		if !slices.ContainsFunc(report.PRDs, func(one prunedPRD) bool { return one.PRD == prd }) {
			one := newPrunedPRD(&prune.Pruned{PRD: prd})
			one.Locked = state.Text(why.Error())
			report.PRDs = append(report.PRDs, one)
		}
	}
	slices.SortFunc(report.PRDs, func(a, b prunedPRD) int { return strings.Compare(a.PRD, b.PRD) })
	return report
}

// DeletedSessionReport is what `checkpoint delete --session --json` prints.
type DeletedSessionReport struct {
	FormatVersion string       `json:"format_version"`
	PRD           string       `json:"prd"`
	DryRun        bool         `json:"dry_run"`
	Session       string       `json:"session"` // "" if the session is damaged
	Collected     collectedAll `json:"collected"`
}

// foreignRefs is what `checkpoint prune --json` prints of captures in git that another
// state directory made.
type foreignRefs struct {
	ID      string   `json:"id"`
	GitRefs []string `json:"git_refs"`
	Needed  []string `json:"needed"` // those of GitRefs that a session here needs
}

// PrunedRefsReport is what `checkpoint prune --refs-of ID --json` prints.
type PrunedRefsReport struct {
	FormatVersion string `json:"format_version"`
	DryRun        bool   `json:"dry_run"`
	foreignRefs
}

func newForeignRefs(of prune.ForeignRefs) foreignRefs {
	return foreignRefs{ID: of.ID, GitRefs: append([]string{}, of.Refs...), Needed: append([]string{}, of.Kept...)}
}

// NewPrunedRefsReport returns the JSON form of removed captures of another state directory.
func NewPrunedRefsReport(of prune.ForeignRefs, dryRun bool) PrunedRefsReport {
	return PrunedRefsReport{FormatVersion, dryRun, newForeignRefs(of)}
}

// NewDeleteReport returns the JSON form of checkpoints that were deleted.
func NewDeleteReport(p *prune.Pruned, objects *Collection, dryRun bool) PruneReport {
	return PruneReport{FormatVersion: FormatVersion, DryRun: dryRun, PRDs: []prunedPRD{newPrunedPRD(p)}, Collected: objects.report()}
}

// NewDeletedSessionReport returns the JSON form of a session that was deleted.
func NewDeletedSessionReport(prd, session string, objects *Collection, dryRun bool) DeletedSessionReport {
	return DeletedSessionReport{FormatVersion, prd, dryRun, session, objects.report()}
}
