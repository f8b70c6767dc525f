package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
	"slices"
	"strings"
	"time"
)

// writeInspection shows what a checkpoint holds, and the result of checking it.
func writeInspection(w io.Writer, found *rollback.Inspection) error {
	var b strings.Builder
	f, ref := found.File, found.Check.Ref
	fmt.Fprintf(&b, "%s\nCHECKPOINT DETAILS: %s\n%s\n\n", rule, f.ID, rule)
	fmt.Fprintf(&b, "Step: %s\n", step(ref))
	fmt.Fprintf(&b, "Created: %s\n", f.CreatedAt.UTC().Format(time.DateTime))
	fmt.Fprintf(&b, "Trigger: %s\n", f.Trigger)
	if f.Reason != "" {
		fmt.Fprintf(&b, "Reason: %s\n", view.OneLine(string(f.Reason)))
	}
	if ref.Pinned {
		b.WriteString("Pinned: yes\n")
	}
	writeSection(&b, "STATE", stateLines(f))
	writeSection(&b, "METRICS", metricLines(f.State))
	writeSection(&b, "OUTPUTS", outputLines(f.State))
	writeSection(&b, "FILES", append(fileLines(f.Files), captureLines(f, found)...))
	writeSection(&b, "GIT", append(gitLines(f.Git), shadowLines(f.State.Capture)...))
	writeSection(&b, "RECOVERY", recoveryLines(f.Recovery))
	writeSection(&b, "VALIDATION", validationLines(found))
	b.WriteString(rule + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func writeSection(b *strings.Builder, title string, lines []string) {
	fmt.Fprintf(b, "\n%s:\n", title)
	if len(lines) == 0 {
		b.WriteString("- none\n")
	}
	for _, line := range lines {
		fmt.Fprintf(b, "- %s\n", view.OneLine(line))
	}
}

func stateLines(f *disk.CheckpointFile) []string {
	st := f.State
	lines := []string{
		"Session: " + f.Session,
		fmt.Sprintf("Sequence: %d", f.Seq),
		"Status: " + string(st.Status),
		fmt.Sprintf("Phase: %s (%d of %d)", f.Phase, st.CurrentPhase, len(st.Phases)),
		fmt.Sprintf("Resumes: %d", st.Resumes),
	}
	if from := st.BeganFrom; from != nil {
		lines = append(lines, fmt.Sprintf("Begun from: session %s, complete since %s", from.Session, from.At.UTC().Format(time.DateTime)))
	}
	counts := map[state.StepStatus]int{}
	gates, reused := map[state.StepStatus]int{}, map[string]int{}
	for _, p := range st.Phases {
		for _, w := range p.Workstreams {
			if w.Retries() {
				counts[state.Waiting]++
			} else {
				counts[w.Status]++
			}
			if w.Session != "" && w.Status == state.Completed {
				reused[state.ShortSession(w.Session)]++
			}
			countGates(gates, w.Gates)
		}
		countGates(gates, p.Gates)
	}
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("Workstreams %s: %d", status, counts[status]))
	}
	for _, session := range slices.Sorted(maps.Keys(reused)) {
		lines = append(lines, fmt.Sprintf("Workstreams reused from session %s: %d", session, reused[session]))
	}
	for _, status := range slices.Sorted(maps.Keys(gates)) {
		lines = append(lines, fmt.Sprintf("Gates %s: %d", status, gates[status]))
	}
	if st.Error != nil {
		lines = append(lines, "Error: "+view.Summary(*st.Error))
	}
	return lines
}

func countGates(counts map[state.StepStatus]int, gates []*state.Gate) {
	for _, g := range gates {
		counts[g.Status]++
	}
}

func metricLines(st *state.State) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(st.Metrics)) {
		lines = append(lines, fmt.Sprintf("%s: %v", name, st.Metrics[name].Value))
	}
	return lines
}

func outputLines(st *state.State) []string {
	var lines []string
	for _, p := range resultless(st.Phases) {
		for _, w := range p.Workstreams {
			if len(w.Artifacts) > 0 {
				lines = append(lines, fmt.Sprintf("%s: %s", w.Name, view.Plural(len(w.Artifacts), "file")))
			}
			for _, name := range slices.Sorted(maps.Keys(w.Outputs)) {
				lines = append(lines, fmt.Sprintf("%s %s: %s", w.Name, name, w.Outputs[name]))
			}
		}
	}
	return lines
}

// fileLines counts the files that the step created and modified, and lists the first.
func fileLines(f state.Files) []string {
	named := func(title string, paths []state.Text) []string {
		const most = 20
		lines := []string{fmt.Sprintf("%s: %d", title, len(paths))}
		for i, path := range paths {
			if i == most {
				return append(lines, fmt.Sprintf("  … and %d more", len(paths)-most))
			}
			lines = append(lines, "  "+string(path))
		}
		return lines
	}
	return append(named("Created", f.Created), named("Modified", f.Modified)...)
}

// captureLines describes the files of the workspace that a rollback restores.
func captureLines(f *disk.CheckpointFile, found *rollback.Inspection) []string {
	c := f.State.Capture
	if c == nil {
		return []string{"Workspace: not captured; recorded artifacts only"}
	}
	lines := []string{fmt.Sprintf("Workspace: %s, %d bytes, captured %s", view.Plural(c.Files, "file"), c.Bytes, c.At.UTC().Format(time.DateTime))}
	if found.Check.Ref != nil && found.Check.Ref.Uncaptured {
		lines = append(lines, "Its own files could not be captured")
	}
	lines = append(lines, newNotCaptured(found.LeftOut, found.Unstable, found.Special).lines()...)
	if found.Earlier != nil {
		lines = append(lines, earlierLines(found.Earlier)...)
	}
	if gone := found.EarlierGone; gone != nil {
		lines = append(lines, "A rollback to it is refused: "+gone.Error())
		lines = append(lines, advice.GoneRemedies(f.PRD, gone)...)
	}
	return lines
}

func gitLines(g *state.Git) []string {
	if g == nil {
		return nil
	}
	return []string{"Branch: " + cmp.Or(string(g.Branch), "(detached)"), "Commit: " + cmp.Or(g.Commit, "(none yet)")}
}

// shadowLines names the commit that holds the captured files. It is on no branch.
func shadowLines(c *state.Capture) []string {
	if c == nil || c.Commit == "" {
		return nil
	}
	lines := []string{"Files: " + c.Commit}
	if c.Ref != "" {
		lines = append(lines, "Reference: "+c.Ref)
	}
	return lines
}

func recoveryLines(r disk.Recovery) []string {
	lines := []string{fmt.Sprintf("Can resume: %v", r.CanResume), fmt.Sprintf("Prerequisites met: %v", r.PrerequisitesMet)}
	if r.ResumeFrom != "" {
		lines = append(lines, "Resume from: "+r.ResumeFrom)
	}
	for _, warning := range r.Warnings {
		lines = append(lines, "Warning: "+warning)
	}
	return lines
}

// validationLines shows the result of checking the checkpoint now.
func validationLines(found *rollback.Inspection) []string {
	c := &found.Check
	without := "none: it has no file yet, only a record in the journal"
	if c.File != validate.FoundNone {
		without = "unknown: its file cannot be read, only the record in the journal"
	}
	lines := []string{"Checksum: " + cmp.Or(c.Checksum, without), "Objects: " + mark(c.Objects)}
	valid := "✓"
	switch {
	case c.Ref.Damage != nil:
		valid = fmt.Sprintf("✗ damaged since %s: %s", c.Ref.Damage.At.UTC().Format(time.DateTime), c.Ref.Damage.Reason)
	case !c.Whole():
		valid = "✗ " + c.Reason()
	case c.Ref.InvalidatedBy != "":
		valid = "✗ discarded by rollback " + c.Ref.InvalidatedBy
	}
	lines = append(lines, "Valid: "+valid)
	if !c.Whole() && c.Unread == nil {
		lines = append(lines, "Repair it: runner checkpoint rebuild "+found.File.PRD+" "+c.Ref.ID)
	}
	for _, note := range c.Notes {
		lines = append(lines, "Note: "+note)
	}
	return lines
}
