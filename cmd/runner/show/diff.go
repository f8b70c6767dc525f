package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/compare"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// Diff shows the differences between two points of a session. With stat it only
// counts them.
func Diff(w io.Writer, c *compare.Comparison, stat bool) error {
	b := newPage(w)
	b.title("", "Difference of two checkpoints")
	b.facts(fact("From", pointLine(c.From)), fact("To", pointLine(c.To)))
	switch {
	case c.Same():
		b.WriteString("\nNothing differs.\n")
	case stat:
		writeStat(b, c)
	default:
		writeChanges(b, c)
	}
	writeNotCaptured(b, c.NotInFrom, "the first")
	writeNotCaptured(b, c.NotInTo, "the second")
	if c.OnlyArtifacts && len(c.Files)+len(c.Artifacts) > 0 {
		b.WriteString("\nOne of the two was never captured: only recorded artifacts are compared.\n")
	}
	writeTexts(b, c)
	return b.end()
}

// mostNotCaptured bounds how many files are listed that one of the two captures left out.
const mostNotCaptured = 10

func writeNotCaptured(b *page, paths []state.Text, which string) {
	if len(paths) == 0 {
		return
	}
	fmt.Fprintf(b, "\nNot captured in %s, so that it is not known whether they changed:\n", which)
	for i, path := range paths {
		if i == mostNotCaptured {
			fmt.Fprintf(b, "  … and %d more\n", len(paths)-i)
			return
		}
		fmt.Fprintf(b, "? %s\n", view.OneLine(string(path)))
	}
}

func pointLine(p compare.Point) string {
	name := p.Name
	switch name {
	case "now":
		name = "the current state"
	case compare.PointWorkspace:
		name = "the current state, with the files as they are now"
	}
	line := fmt.Sprintf("%s (Step %d", name, p.Step)
	if p.StepName != "" {
		line += " - " + view.OneLine(p.StepName)
	}
	line += ")"
	if p.FilesAt != nil && p.FilesAt.Before(p.At.Add(-time.Second)) {
		line += ", files of " + p.FilesAt.UTC().Format(time.DateTime)
	}
	return line
}

func writeChanges(b *page, c *compare.Comparison) {
	writeChanged(b, "State changes", valueLines(c.State))
	writeChanged(b, "Phases", stepLines(c.Phases))
	writeChanged(b, "Workstreams", stepLines(c.Workstreams))
	writeChanged(b, "Gates", stepLines(c.Gates))
	writeChanged(b, "Metrics changes", valueLines(c.Metrics))
	writeChanged(b, "Output changes", append(valueLines(c.Outputs), artifactLines(c.Artifacts, string(workspace.Added), string(workspace.Deleted))...))
	writeChanged(b, "File changes", info.ChangeLines(c.Files))
	writeCommits(b, c.Git)
}

func writeChanged(b *page, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.heading(title)
	for _, line := range lines {
		b.Printf("%s\n", b.Paint(styleOfChange(line), line))
	}
}

func valueLines(changes []compare.ValueChange) []string {
	var lines []string
	for _, c := range changes {
		lines = append(lines, fmt.Sprintf("- %s: %s → %s", c.Name, shownValue(c.From), shownValue(c.To)))
	}
	return lines
}

// shownValue returns one side of a change, as the comparison shows it.
func shownValue(v any) string {
	if v == nil {
		return "(none)"
	}
	return view.ShortDigest(view.OneLine(fmt.Sprint(v)))
}

func stepLines(changes []compare.StepChange) []string {
	var lines []string
	for _, c := range changes {
		line := "- " + c.Name + ": "
		if c.From == c.To {
			line += string(c.To)
		} else {
			line += cmp.Or(string(c.From), "(none)") + " → " + cmp.Or(string(c.To), "(none)")
		}
		if c.FromAttempts != c.ToAttempts {
			line += fmt.Sprintf(", attempts %d → %d", c.FromAttempts, c.ToAttempts)
		}
		if len(c.Changed) > 0 {
			line += ", other " + strings.Join(componentsInWords(c.Changed), ", ")
		}
		lines = append(lines, line)
	}
	return lines
}

// componentsInWords says what of a workstream or of a gate differs.
func componentsInWords(components []string) []string {
	inWords := map[string]string{"upstream": "results of what it depends on", "judged": "files and values that it judges"}
	list := make([]string, len(components))
	for i, component := range components {
		list[i] = cmp.Or(inWords[component], component)
	}
	return list
}

// artifactLines counts the changed artifacts of each workstream. added and deleted say what is with those that only the second
// and only the first has.
func artifactLines(changes []compare.ArtifactChange, added, deleted string) []string {
	words := map[workspace.ChangeKind]string{workspace.Added: added, workspace.Deleted: deleted, workspace.Modified: string(workspace.Modified)}
	type group struct {
		workstream string
		kind       workspace.ChangeKind
	}
	counts := map[group]int{}
	var order []group
	for _, c := range changes {
		g := group{c.Workstream, c.Kind}
		if counts[g]++; counts[g] == 1 {
			order = append(order, g)
		}
	}
	slices.SortStableFunc(order, func(x, y group) int { return cmp.Compare(x.workstream, y.workstream) })
	var lines []string
	for _, g := range order {
		lines = append(lines, fmt.Sprintf("%s %s: %s %s", info.ChangeMark(g.kind), g.workstream, view.Plural(counts[g], "file"), words[g.kind]))
	}
	return lines
}

func writeCommits(b *page, g *compare.GitChange) {
	if g == nil || len(g.Commits)+len(g.Gone) == 0 && g.Note == "" {
		return
	}
	b.heading("Git commits")
	if g.Note != "" {
		fmt.Fprintf(b, "%s\n", view.OneLine(g.Note))
		return
	}
	for _, list := range []struct {
		commits []compare.GitCommit
		mark    string
		what    string
	}{{g.Commits, "-", "between checkpoints"}, {g.Gone, "✗", "that the second has no longer"}} {
		if len(list.commits) == 0 {
			continue
		}
		fmt.Fprintf(b, "%s %s\n", view.Plural(len(list.commits), "commit"), list.what)
		for _, c := range list.commits {
			fmt.Fprintf(b, "%s %s: %s\n", list.mark, shortCommit(c.Commit), view.OneLine(string(c.Subject)))
		}
	}
}

// writeStat counts the differences.
func writeStat(b *page, c *compare.Comparison) {
	var count struct{ added, modified, deleted, plus, minus int }
	for _, f := range c.Files {
		switch f.Kind {
		case workspace.Added:
			count.added++
		case workspace.Modified:
			count.modified++
		case workspace.Deleted:
			count.deleted++
		}
		count.plus += f.Added
		count.minus += f.Deleted
	}
	b.heading("Differences")
	for _, line := range []struct {
		name string
		n    int
	}{
		{"State", len(c.State)}, {"Phases", len(c.Phases)}, {"Workstreams", len(c.Workstreams)}, {"Gates", len(c.Gates)},
		{"Metrics", len(c.Metrics)}, {"Outputs", len(c.Outputs)}, {"Artifacts", len(c.Artifacts)},
	} {
		fmt.Fprintf(b, "%s: %d\n", line.name, line.n)
	}
	fmt.Fprintf(b, "Files: %d added, %d modified, %d deleted, +%d −%d lines\n", count.added, count.modified, count.deleted, count.plus, count.minus)
	if c.Git != nil {
		fmt.Fprintf(b, "Commits: %d\n", len(c.Git.Commits)+len(c.Git.Gone))
	}
}

// styleOfChange returns the style of a line by the mark of its change.
func styleOfChange(line string) view.Style {
	switch {
	case strings.HasPrefix(line, "+ "):
		return view.Green
	case strings.HasPrefix(line, "✗"):
		return view.Red
	case strings.HasPrefix(line, "~ "):
		return view.Yellow
	}
	return view.None
}

// writeTexts shows the differences in the contents of files.
func writeTexts(b *page, c *compare.Comparison) {
	for _, f := range c.Files {
		if f.Diff != "" {
			b.Printf("\n")
		}
		for line := range strings.Lines(string(f.Diff)) {
			line = strings.TrimSuffix(line, "\n")
			b.Printf("%s\n", b.Paint(styleOfDifference(line), strings.ReplaceAll(view.Clean(line), "\n", `\r`)))
		}
	}
}

// styleOfDifference returns the style of a line of a unified difference.
func styleOfDifference(line string) view.Style {
	switch {
	case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		return view.Bold
	case strings.HasPrefix(line, "@@"):
		return view.Dim
	case strings.HasPrefix(line, "+"):
		return view.Green
	case strings.HasPrefix(line, "-"):
		return view.Red
	}
	return view.None
}
