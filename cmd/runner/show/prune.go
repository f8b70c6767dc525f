package show

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
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

// Write shows a prune. ahead says that nothing has been removed yet.
func (p *Prune) Write(w io.Writer, cmdline advice.CommandLine, ahead bool) error {
	b := newPage(w)
	checkpoints, sessions := p.Count()
	if checkpoints+sessions+p.Objects.Count() == 0 {
		b.WriteString("Nothing to remove\n")
	}
	for _, plan := range p.Pruned {
		writePruned(b, plan, ahead)
		if p.Reasons {
			writeKept(b, plan)
		}
	}
	p.Objects.writeTo(b, ahead)
	p.writeForeign(b, cmdline)
	for prd := range p.Owned {
		fmt.Fprintf(b, "%s was skipped: a run is using it\n", prd)
	}
	return b.end()
}

// writePruned lists the checkpoints and sessions removed from a PRD, with reasons.
func writePruned(b *page, p *prune.Pruned, ahead bool) {
	verb := "Removed"
	if ahead {
		verb = "Would remove"
	}
	if n := len(p.Checkpoints); n > 0 {
		fmt.Fprintf(b, "%s %s of %s%s, keeping %d:\n", verb, view.Plural(n, "checkpoint"), p.PRD, freedBytes(p), p.Kept)
	}
	writeRemoved(b, p, verb)
	if p.Doubted > 0 {
		fmt.Fprintf(b, "  ! %d would be too old if the clock is right; --older-than trusts the clock\n", p.Doubted)
	}
	if p.Over > 0 {
		fmt.Fprintf(b, "  ! %s holds %s more than it may: raise checkpoint.storage.max_size_mb, or unpin or keep fewer\n", p.PRD, Size(p.Over))
	}
	for _, warning := range p.Warnings {
		fmt.Fprintf(b, "  ! %s: %s\n", p.PRD, warning)
	}
}

// freedBytes returns how many bytes pruning frees, "" if sizes were not determined.
func freedBytes(p *prune.Pruned) string {
	if p.Freed == 0 {
		return ""
	}
	return " (" + Size(p.Freed) + ")"
}

// writeKept prints why the other checkpoints stay, for a user who gave an age.
func writeKept(b *page, p *prune.Pruned) {
	if len(p.Keeps) > 0 {
		fmt.Fprintf(b, "Would keep %s of %s:\n", view.Plural(len(p.Keeps), "checkpoint"), p.PRD)
	}
	for _, c := range p.Keeps {
		fmt.Fprintf(b, "  = %s: %s\n", c.ID, c.Why)
	}
}

// Retention lists the checkpoints that retention removed at the end of a run, and the
// steps and rollbacks that can no longer be reached or undone.
func Retention(w io.Writer, p *prune.Pruned) {
	b := newPage(w)
	if n := len(p.Checkpoints); n > 0 {
		fmt.Fprintf(b, "Retention removed %s%s, keeping %d:\n", view.Plural(n, "checkpoint"), freedBytes(p), p.Kept)
	}
	writeRemoved(b, p, "Retention removed")
	fmt.Fprint(w, b.String())
}

// writeRemoved lists the checkpoints and sessions that are removed, with reasons, and the
// steps and rollbacks that can no longer be reached or undone.
func writeRemoved(b *page, p *prune.Pruned, verb string) {
	for _, c := range p.Checkpoints {
		fmt.Fprintf(b, "  - %s: %s\n", c.ID, c.Why)
	}
	for _, s := range p.Sessions {
		fmt.Fprintf(b, "%s the archived session %s (%s): %s\n", verb, filepath.FromSlash(s.ID), Size(s.Bytes), s.Why)
	}
	for _, lost := range p.Lost {
		fmt.Fprintf(b, "  ! %s\n", lost)
	}
}

func (c *Collection) writeTo(b *page, ahead bool) {
	verb := "Collected"
	if ahead {
		verb = "Would collect"
	}
	switch {
	case c.Why != "":
		fmt.Fprintf(b, "No objects were removed: %s\n", c.Why)
	case c.Count() > 0:
		refs := len(c.Done.Refs)
		if c.Count() > refs {
			fmt.Fprintf(b, "%s %s that nothing needs (%s)\n", verb, view.Plural(c.Done.Objects+c.Done.Leftovers, "object"), Size(c.Done.Bytes))
		}
		if refs > 0 {
			fmt.Fprintf(b, "%s %s from git\n", verb, view.Plural(refs, "capture"))
		}
	}
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

func (p *Prune) writeForeign(b *page, cmdline advice.CommandLine) {
	for _, of := range p.Foreign {
		fmt.Fprintf(b, "! %s in git of another state directory, %s: if that is gone, `%s` removes what is not needed here\n",
			view.Plural(len(of.Refs), "capture"), of.ID, cmdline.Command("checkpoint prune --refs-of "+of.ID))
	}
}

// NewPrunedRefsReport returns the JSON form of removed captures of another state directory.
func NewPrunedRefsReport(of prune.ForeignRefs, dryRun bool) PrunedRefsReport {
	return PrunedRefsReport{FormatVersion, dryRun, newForeignRefs(of)}
}

// PrunedRefs shows which captures of another state directory were removed from git.
func PrunedRefs(w io.Writer, of prune.ForeignRefs, dryRun bool) error {
	verb := "Removed"
	if dryRun {
		verb = "Would remove"
	}
	b := newPage(w)
	fmt.Fprintf(b, "%s %s of %s from git\n", verb, view.Plural(len(of.Refs)-len(of.Kept), "capture"), of.ID)
	for _, ref := range of.Kept {
		fmt.Fprintf(b, "  = %s: a session here needs it, until its next capture keeps it under a name of its own\n", ref)
	}
	return b.end()
}

// NewDeleteReport returns the JSON form of checkpoints that were deleted.
func NewDeleteReport(p *prune.Pruned, objects *Collection, dryRun bool) PruneReport {
	return PruneReport{FormatVersion: FormatVersion, DryRun: dryRun, PRDs: []prunedPRD{newPrunedPRD(p)}, Collected: objects.report()}
}

// Deleted shows which checkpoints were deleted. resume are commands that resume the
// session without them.
func Deleted(w io.Writer, cmdline advice.CommandLine, p *prune.Pruned, objects *Collection, dryRun bool, resume ...advice.Suggestion) error {
	b := newPage(w)
	writePruned(b, p, dryRun)
	for _, s := range resume {
		fmt.Fprintf(b, "The session can still be resumed, from its journal: %s\n", cmdline.Command(s.Command))
	}
	objects.writeTo(b, dryRun)
	return b.end()
}

// NewDeletedSessionReport returns the JSON form of a session that was deleted.
func NewDeletedSessionReport(prd, session string, objects *Collection, dryRun bool) DeletedSessionReport {
	return DeletedSessionReport{FormatVersion, prd, dryRun, session, objects.report()}
}

// DeletedSession shows that a session was deleted. what describes its progress.
func DeletedSession(w io.Writer, prd, what string, objects *Collection, dryRun bool) error {
	verb := "Deleted"
	if dryRun {
		verb = "Would delete"
	}
	b := newPage(w)
	fmt.Fprintf(b, "%s the session of %s (%s)\n", verb, prd, what)
	objects.writeTo(b, dryRun)
	return b.end()
}

// DeletePreview shows which checkpoints would be deleted, before the user is asked.
func DeletePreview(w io.Writer, p *prune.Pruned) error {
	b := newPage(w)
	writePruned(b, p, true)
	return b.end()
}
