package show

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// Checkpoint shows what a checkpoint holds, and the result of checking it.
func Checkpoint(w io.Writer, cmdline advice.CommandLine, now time.Time, found *rollback.Inspection) error {
	p := newPage(w)
	f, ref := found.File, found.Check.Ref
	p.title("", "Checkpoint "+f.ID)
	facts := []info.Fact{
		fact("Step", stepLabel(ref)), fact("Created", info.When(now, f.CreatedAt)),
		fact("Trigger", string(f.Trigger)), fact("Reason", string(f.Reason)),
	}
	if ref.Pinned {
		facts = append(facts, fact("Pinned", "yes"))
	}
	p.facts(facts...)
	p.section("State", stateLines(f))
	p.section("Metrics", metricLines(f.State))
	p.section("Outputs", outputLines(f.State))
	p.section("Execution graph", graphLines(f))
	for _, section := range reportedSections(f) {
		p.section(section.title, section.lines)
	}
	p.section("Files", append(fileLines(f.Files), captureLines(cmdline, f, found)...))
	p.section("Git", append(append(gitLines(f.Git), modifiedLines(f)...), shadowLines(f.State.Capture)...))
	p.section("Recovery", recoveryLines(f.Recovery, &found.Check))
	p.section("Validation", validationLines(cmdline, found))
	return p.end()
}

// section writes a heading and lines below it.
func (p *page) section(title string, lines []string) {
	p.heading(title)
	if len(lines) == 0 {
		p.Printf("- %s\n", p.Paint(view.Dim, "none"))
	}
	for _, line := range lines {
		name, value, found := strings.Cut(line, ": ")
		if style := styleOfMark(value); found && style != view.None {
			p.Printf("- %s: %s\n", name, p.Paint(style, value))
			continue
		}
		p.Printf("- %s\n", line)
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
	if st.Review != nil {
		lines = append(lines, "Review: "+st.Review.Describe())
	}
	for _, p := range st.Phases {
		if p.Iteration != nil {
			lines = append(lines, "Iterations: "+p.Name+info.IterationOf(p))
		}
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
	if spent := st.Spent.String(); spent != "" {
		lines = append(lines, "Spent: "+spent)
	}
	return lines
}

func outputLines(st *state.State) []string {
	var lines []string
	for _, p := range info.Resultless(st.Phases) {
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

// mostListed is how many files of a kind a checkpoint's details list.
const mostListed = 20

// fileLines counts the files that the step created and modified, and lists the first.
func fileLines(f state.Files) []string {
	named := func(title string, paths []state.Text) []string {
		lines := []string{fmt.Sprintf("%s: %d", title, len(paths))}
		for i, path := range paths {
			if i == mostListed {
				return append(lines, fmt.Sprintf("  … and %d more", len(paths)-mostListed))
			}
			lines = append(lines, "  "+string(path))
		}
		return lines
	}
	return append(named("Created", f.Created), named("Modified", f.Modified)...)
}

// captureLines describes the files of the workspace that a rollback restores.
func captureLines(cmdline advice.CommandLine, f *disk.CheckpointFile, found *rollback.Inspection) []string {
	c := f.State.Capture
	if c == nil {
		return []string{"Workspace: not captured; recorded artifacts only"}
	}
	lines := []string{fmt.Sprintf("Workspace: %s, %s, captured %s", view.Plural(c.Files, "file"), info.Size(c.Bytes), c.At.UTC().Format(time.DateTime))}
	if found.Check.Ref != nil && found.Check.Ref.Uncaptured {
		lines = append(lines, "Its own files could not be captured")
	}
	lines = append(lines, info.NewNotCaptured(found.LeftOut, found.Unstable, found.Special).LinesForPeople()...)
	if found.Earlier != nil {
		lines = append(lines, earlierLines(found.Earlier)...)
	}
	if gone := found.EarlierGone; gone != nil {
		lines = append(lines, "A rollback to it is refused: "+gone.Error())
		for _, remedy := range advice.GoneRemedies(f.PRD, gone) {
			lines = append(lines, cmdline.Localize(remedy))
		}
	}
	return lines
}

func gitLines(g *state.Git) []string {
	if g == nil {
		return nil
	}
	return []string{"Branch: " + cmp.Or(string(g.Branch), "(detached)"), "Commit: " + cmp.Or(g.Commit, "(none yet)")}
}

// modifiedLines counts the files that differ from the commit of git, and lists the first.
func modifiedLines(f *disk.CheckpointFile) []string {
	if f.Modified == nil {
		return nil
	}
	all := len(f.Modified) + f.Omitted
	lines := []string{"Modified: " + view.Plural(all, "file")}
	for _, m := range f.Modified[:min(len(f.Modified), mostListed)] {
		staged := ""
		if m.Staged {
			staged = ", staged"
		}
		lines = append(lines, fmt.Sprintf("  %s (%s%s)", m.Path, m.Status, staged))
	}
	if all > mostListed {
		lines = append(lines, fmt.Sprintf("  … and %d more", all-min(len(f.Modified), mostListed)))
	}
	return lines
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

// recoveryLines shows what was true for a resume when the checkpoint was made, and warns if
// its files are not there any more.
func recoveryLines(r disk.Recovery, now *validate.CheckpointCheck) []string {
	lines := []string{fmt.Sprintf("Can resume: %v", r.CanResume), fmt.Sprintf("Prerequisites met: %v", r.PrerequisitesMet)}
	for _, p := range r.Checked {
		mark := "✓"
		switch {
		case !p.Met:
			mark = "✗ " + p.Detail
		case p.Detail != "":
			mark += " " + p.Detail
		}
		lines = append(lines, fmt.Sprintf("  %s: %s", p.Check, mark))
	}
	if r.ResumeFrom != "" {
		lines = append(lines, "Resume from: "+r.ResumeFrom)
	}
	for _, warning := range r.Warnings {
		lines = append(lines, "Warning: "+warning)
	}
	if now.Objects == validate.FoundBad {
		lines = append(lines, "Warning: since it was made, files of it were lost that cannot be restored now; see Validation")
	}
	return lines
}

// validationLines shows the result of checking the checkpoint now.
func validationLines(cmdline advice.CommandLine, found *rollback.Inspection) []string {
	c := &found.Check
	without := "none: it has no file yet, only a record in the journal"
	if c.File != validate.FoundNone {
		without = "unknown: its file cannot be read, only the record in the journal"
	}
	lines := []string{"Checksum: " + cmp.Or(c.Checksum, without), "Objects: " + findingMark(c.Objects)}
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
		lines = append(lines, "Repair it: "+cmdline.Command("checkpoint rebuild "+found.File.PRD+" "+c.Ref.ID))
	}
	for _, note := range c.Notes {
		lines = append(lines, "Note: "+note)
	}
	return lines
}

// Created shows a checkpoint that was made.
func Created(w io.Writer, ref *state.CheckpointRef, byRun bool, notCaptured info.NotCaptured, kept []string) error {
	p := newPage(w)
	p.Printf("✓ Checkpoint created: %s\n  Step: %s\n", ref.ID, stepLabel(ref))
	if ref.Capture != nil {
		captured := ""
		if byRun {
			captured = fmt.Sprintf(", as they were captured at %s, with the artifacts recorded since", ref.Capture.At.UTC().Format(time.DateTime))
		}
		p.Printf("  Files: %d%s\n", ref.Capture.Files, captured)
	}
	for _, line := range notCaptured.LinesForPeople() {
		p.Printf("  %s\n", line)
	}
	for _, id := range kept {
		p.Printf("  Not in it: what was edited before the rollback was finished; that is in %s\n", id)
	}
	for _, line := range gitLines(ref.Git) {
		p.Printf("  Git %s\n", line)
	}
	return p.end()
}
