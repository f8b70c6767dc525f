package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/state"
	"prdrunner/runner/view"
)

// pruneReport is what `checkpoint prune --json` and `delete --json` print.
type pruneReport struct {
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

func (c *collection) report() collectedAll {
	return collectedAll{
		Objects: c.done.Objects, Leftovers: c.done.Leftovers, Bytes: c.done.Bytes,
		GitRefs: append([]string{}, c.done.Refs...), Kept: c.done.Kept, Why: state.Text(c.why),
	}
}

// show prints the result of the command, or of the dry run.
func (p *pruning) show(w io.Writer) error {
	if !p.o.json {
		return p.write(w, p.o.dryRun)
	}
	report := pruneReport{FormatVersion: outputFormat, DryRun: p.o.dryRun, PRDs: []prunedPRD{}, Collected: p.objects.report()}
	for _, plan := range p.pruned {
		one := newPrunedPRD(plan)
		if why := p.owned[plan.PRD]; why != nil {
			one.Locked = state.Text(why.Error())
		}
		report.PRDs = append(report.PRDs, one)
	}
	for _, of := range p.foreign {
		report.Foreign = append(report.Foreign, newForeignRefs(of))
	}
	for prd, why := range p.owned {
		if !slices.ContainsFunc(report.PRDs, func(one prunedPRD) bool { return one.PRD == prd }) {
			one := newPrunedPRD(&prune.Pruned{PRD: prd})
			one.Locked = state.Text(why.Error())
			report.PRDs = append(report.PRDs, one)
		}
	}
	slices.SortFunc(report.PRDs, func(a, b prunedPRD) int { return strings.Compare(a.PRD, b.PRD) })
	return writeJSON(w, report)
}

// write prints the same for people. ahead says that nothing has been removed yet.
func (p *pruning) write(w io.Writer, ahead bool) error {
	var b strings.Builder
	checkpoints, sessions := p.count()
	if checkpoints+sessions+p.objects.count() == 0 {
		b.WriteString("Nothing to remove\n")
	}
	for _, plan := range p.pruned {
		writePruned(&b, plan, ahead)
		if p.o.dryRun && p.o.olderThan > 0 {
			writeKept(&b, plan)
		}
	}
	p.objects.write(&b, ahead)
	p.writeForeign(&b)
	for prd := range p.owned {
		fmt.Fprintf(&b, "%s was skipped: a run is using it\n", prd)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writePruned lists the checkpoints and sessions removed from a PRD, with reasons.
func writePruned(b *strings.Builder, p *prune.Pruned, ahead bool) {
	verb := "Removed"
	if ahead {
		verb = "Would remove"
	}
	if n := len(p.Checkpoints); n > 0 {
		fmt.Fprintf(b, "%s %s of %s%s, keeping %d:\n", verb, view.Plural(n, "checkpoint"), p.PRD, freed(p), p.Kept)
	}
	writeRemoved(b, p, verb)
	if p.Doubted > 0 {
		fmt.Fprintf(b, "  ! %d would be too old if the clock is right; --older-than trusts the clock\n", p.Doubted)
	}
	if p.Over > 0 {
		fmt.Fprintf(b, "  ! %s holds %s more than it may: raise checkpoint.storage.max_size_mb, or unpin or keep fewer\n", p.PRD, size(p.Over))
	}
	for _, warning := range p.Warnings {
		fmt.Fprintf(b, "  ! %s: %s\n", p.PRD, warning)
	}
}

// freed returns how many bytes pruning frees, "" if sizes were not determined.
func freed(p *prune.Pruned) string {
	if p.Freed == 0 {
		return ""
	}
	return " (" + size(p.Freed) + ")"
}

// writeKept prints why the other checkpoints stay, for a user who gave an age.
func writeKept(b *strings.Builder, p *prune.Pruned) {
	if len(p.Keeps) > 0 {
		fmt.Fprintf(b, "Would keep %s of %s:\n", view.Plural(len(p.Keeps), "checkpoint"), p.PRD)
	}
	for _, c := range p.Keeps {
		fmt.Fprintf(b, "  = %s: %s\n", c.ID, c.Why)
	}
}

// printRemoved lists the checkpoints that retention removed at the end of a run, and the steps and
// rollbacks that can no longer be reached or undone.
func printRemoved(w io.Writer, p *prune.Pruned) {
	var b strings.Builder
	if n := len(p.Checkpoints); n > 0 {
		fmt.Fprintf(&b, "Retention removed %s%s, keeping %d:\n", view.Plural(n, "checkpoint"), freed(p), p.Kept)
	}
	writeRemoved(&b, p, "Retention removed")
	fmt.Fprint(w, b.String())
}

// writeRemoved lists the checkpoints and sessions that are removed, with reasons, and the
// steps and rollbacks that can no longer be reached or undone.
func writeRemoved(b *strings.Builder, p *prune.Pruned, verb string) {
	for _, c := range p.Checkpoints {
		fmt.Fprintf(b, "  - %s: %s\n", c.ID, c.Why)
	}
	for _, s := range p.Sessions {
		fmt.Fprintf(b, "%s the archived session %s (%s): %s\n", verb, filepath.FromSlash(s.ID), size(s.Bytes), s.Why)
	}
	for _, lost := range p.Lost {
		fmt.Fprintf(b, "  ! %s\n", lost)
	}
}

func (c *collection) write(b *strings.Builder, ahead bool) {
	verb := "Collected"
	if ahead {
		verb = "Would collect"
	}
	switch {
	case c.why != "":
		fmt.Fprintf(b, "No objects were removed: %s\n", c.why)
	case c.count() > 0:
		fmt.Fprintf(b, "%s %s that nothing needs (%s)\n", verb, view.Plural(c.done.Objects+c.done.Leftovers, "object"), size(c.done.Bytes))
		if n := len(c.done.Refs); n > 0 {
			fmt.Fprintf(b, "%s %s from git\n", verb, view.Plural(n, "capture"))
		}
	}
}

// size formats a number of bytes for people.
func size(bytes int64) string {
	const kilo = 1024
	switch {
	case bytes < kilo:
		return fmt.Sprintf("%d B", bytes)
	case bytes < kilo*kilo:
		return fmt.Sprintf("%.1f KB", float64(bytes)/kilo)
	case bytes < kilo*kilo*kilo:
		return fmt.Sprintf("%.1f MB", float64(bytes)/kilo/kilo)
	}
	return fmt.Sprintf("%.1f GB", float64(bytes)/kilo/kilo/kilo)
}
