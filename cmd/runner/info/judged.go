package info

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint/compare"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/runner/view"
)

// ChangeLines names changed files, a line each: ~ a.go (modified, +2 −1).
func ChangeLines(changes []compare.FileChange) []string {
	var lines []string
	for _, c := range changes {
		word := map[workspace.ChangeKind]string{workspace.Added: "new", workspace.Modified: "modified", workspace.Deleted: "deleted"}[c.Kind]
		details := []string{word}
		if c.Added+c.Deleted > 0 {
			details = append(details, fmt.Sprintf("+%d −%d", c.Added, c.Deleted))
		}
		for _, more := range []string{c.Mode, c.Note} {
			if more != "" {
				details = append(details, more)
			}
		}
		lines = append(lines, fmt.Sprintf("%s %s (%s)", ChangeMark(c.Kind), c.Path, strings.Join(details, ", ")))
	}
	return lines
}

// Judged is what a person judges who answers a gate. `status --json` prints it.
type Judged struct {
	Files   FilesSince     `json:"files"`
	Metrics []judgedMetric `json:"metrics"` // of the workstreams that the gate judges
	Gates   []judgedGate   `json:"gates"`   // the other gates of its workstream, or of its phase and the workstreams there
}

// FilesSince counts the files that changed in the workspace since the work that a gate judges began.
type FilesSince struct {
	Checkpoint string        `json:"checkpoint,omitempty"` // with which the workspace is compared; "": there is none
	Before     string        `json:"before,omitempty"`     // which moment the checkpoint is of: before a phase or a workstream began
	Counts     *ChangeCounts `json:"counts,omitempty"`     // nil: not known
	Unknown    state.Text    `json:"unknown,omitempty"`    // why the counts are not known
	// OnlyArtifacts says that the checkpoint has no capture: only recorded artifacts are compared.
	OnlyArtifacts bool       `json:"only_artifacts,omitempty"`
	NotCompared   int        `json:"not_compared,omitempty"` // files that only one of the two captures includes
	Difference    state.Text `json:"difference,omitempty"`   // the command that shows the difference

	changes []compare.FileChange
}

// ChangeCounts counts changes in files.
type ChangeCounts struct {
	Added        int `json:"added"`
	Modified     int `json:"modified"`
	Deleted      int `json:"deleted"`
	LinesAdded   int `json:"lines_added"` // in files that are text
	LinesDeleted int `json:"lines_deleted"`
}

// judgedMetric is a metric that a judged workstream set.
type judgedMetric struct {
	Name     string       `json:"name"`
	Value    OutputValue  `json:"value"`
	Previous *OutputValue `json:"previous,omitempty"` // in the last complete session; nil: it had none
}

// judgedGate is another gate beside the one that asks.
type judgedGate struct {
	Gate   string           `json:"gate"`
	Status state.StepStatus `json:"status"`
}

// NewJudged returns what the session has on record of the work that a gate judges.
func NewJudged(st *state.State, g *state.Gate, files FilesSince) *Judged {
	j := &Judged{Files: files, Metrics: []judgedMetric{}, Gates: []judgedGate{}}
	ws, phase := g.Owner()
	judged := []*state.Workstream{ws}
	if ws == nil {
		judged = InOrder(phase.Workstreams)
	}
	for _, w := range judged {
		j.addMetrics(st, w)
		j.addGates(w.Gates, g)
	}
	if ws == nil {
		j.addGates(phase.Gates, g)
	}
	slices.SortFunc(j.Metrics, func(a, b judgedMetric) int { return view.CompareNatural(a.Name, b.Name) })
	return j
}

func (j *Judged) addMetrics(st *state.State, w *state.Workstream) {
	for name, value := range OutputsOf(st, w).Metrics {
		m := judgedMetric{Name: name, Value: value}
		if before, has := st.Baseline[name]; has {
			previous := outputValue(typeOf(before.Value), before.Value)
			m.Previous = &previous
		}
		j.Metrics = append(j.Metrics, m)
	}
}

func (j *Judged) addGates(list []*state.Gate, but *state.Gate) {
	for _, g := range list {
		if g != but {
			j.Gates = append(j.Gates, judgedGate{g.Label, g.Status})
		}
	}
}

// NewFilesSince returns the counts of a comparison between a checkpoint and the workspace.
func NewFilesSince(c *compare.Comparison, before string) FilesSince {
	counts := &ChangeCounts{}
	for _, f := range c.Files {
		switch f.Kind {
		case workspace.Added:
			counts.Added++
		case workspace.Modified:
			counts.Modified++
		case workspace.Deleted:
			counts.Deleted++
		}
		counts.LinesAdded += f.Added
		counts.LinesDeleted += f.Deleted
	}
	return FilesSince{Checkpoint: c.From.ID, Before: before, Counts: counts, OnlyArtifacts: c.OnlyArtifacts, NotCompared: len(c.NotInFrom) + len(c.NotInTo), changes: c.Files}
}

// Lines names the files that changed, a line each: ~ a.go (modified, +2 −1).
func (f FilesSince) Lines() []string { return ChangeLines(f.changes) }

// String says what changed, and since when.
func (f FilesSince) String() string {
	if f.Counts == nil {
		return "not known what changed: " + cmp.Or(string(f.Unknown), "there is nothing to compare with")
	}
	since := fmt.Sprintf("since %s (%s)", f.Checkpoint, f.Before)
	if f.OnlyArtifacts {
		since += ", which has no capture: only recorded artifacts are compared"
	}
	text := "no changes " + since
	if f.Counts.total() > 0 {
		text = fmt.Sprintf("%s %s", f.Counts, since)
	}
	if f.NotCompared > 0 {
		text += "; " + view.Plural(f.NotCompared, "file") + " not captured there or here, and not compared"
	}
	return text
}

func (c ChangeCounts) total() int { return c.Added + c.Modified + c.Deleted }

// String returns the counts: 1 added, 2 modified, +120 −4 lines.
func (c ChangeCounts) String() string {
	var parts []string
	for _, count := range []struct {
		n    int
		what string
	}{{c.Added, "added"}, {c.Modified, "modified"}, {c.Deleted, "deleted"}} {
		if count.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count.n, count.what))
		}
	}
	if c.LinesAdded+c.LinesDeleted > 0 {
		parts = append(parts, fmt.Sprintf("+%d −%d lines", c.LinesAdded, c.LinesDeleted))
	}
	return strings.Join(parts, ", ")
}

// MostJudged bounds how many metrics, gates and workstreams are named.
const MostJudged = 12

func (j *Judged) metricsText() string {
	var all []string
	for _, m := range j.Metrics {
		text := m.Name + " " + m.Value.Shown()
		if m.Previous != nil {
			text += fmt.Sprintf(" (%s in the last complete session)", m.Previous.Shown())
		}
		all = append(all, text)
	}
	return strings.Join(FirstOf(all), ", ")
}

// Shown returns the value in one line.
func (v OutputValue) Shown() string {
	if v.Sensitive {
		return "(sensitive)"
	}
	return view.OneLine(v.String())
}

// gatesText names the other gates, those that have not passed first.
func (j *Judged) gatesText() (text string, style view.Style) {
	sorted := slices.Clone(j.Gates)
	slices.SortStableFunc(sorted, func(a, b judgedGate) int { return cmp.Compare(rank(a.Status), rank(b.Status)) })
	var all []string
	for _, g := range sorted {
		all = append(all, fmt.Sprintf("%s %s", g.Gate, g.Status))
		if g.Status == state.Failed || g.Status == state.Rejected {
			style = view.Red
		}
	}
	return strings.Join(FirstOf(all), ", "), style
}

func rank(s state.StepStatus) int {
	switch s {
	case state.Failed, state.Rejected:
		return 0
	case state.Passed:
		return 2
	case state.Pending, state.Running, state.Succeeded, state.Completed, state.Waiting, state.Interrupted, state.Uncertain, state.Skipped:
	}
	return 1
}

// FirstOf returns the first of some texts, and the number of the others.
func FirstOf(all []string) []string {
	if len(all) <= MostJudged {
		return all
	}
	return append(slices.Clone(all[:MostJudged]), fmt.Sprintf("and %d more", len(all)-MostJudged))
}

// Facts returns what a person judges, as names and values.
func (j *Judged) Facts() []Fact {
	gates, style := j.gatesText()
	return []Fact{{"Files", j.Files.String(), view.None}, {"Metrics", j.metricsText(), view.None}, {"Gates", gates, style}}
}

// Lines returns what a person judges, a line each: Files: 2 modified since CP-1 (before WS1 began).
func (j *Judged) Lines() []string {
	var lines []string
	for _, f := range j.Facts() {
		if f.Value != "" {
			lines = append(lines, f.Name+": "+f.Value)
		}
	}
	return lines
}
