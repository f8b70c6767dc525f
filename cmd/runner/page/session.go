package page

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/pipeline/graph"
	"prdrunner/runner/view"
)

// session is what the templates need of a session.
type session struct {
	Heading     string
	Result      graph.Mark
	Now         string
	Facts       []info.Fact
	Next        []state.Text
	Plan        string // where the plan of the next run is; "": nowhere
	Waiting     []waiting
	Failures    []failure
	WaysBack    []wayBack // after a failure
	Phases      []phase
	Span        string // the time that the timeline shows
	Critical    bool   // it is known what decided how long the last run took
	Picture     template.HTML
	Gates       []gate
	Metrics     []metric
	Checkpoints []checkpoint
	Rollbacks   []rollback
	Pause       *Form // asks a run to pause; nil: none goes on, or not here
	Outputs     []output
	History     []past
}

// waiting is a gate that waits for a person.
type waiting struct {
	Text, Message string
	Judged        []info.Fact
	Changes       []string // the files that changed, a line each
	Difference    string   // the command that shows how; "": nothing to compare with is known
	Link          string   // where the difference is shown; "": nowhere
	Form          *answer  // nil: it can't be answered here
}

// failure is what failed.
type failure struct {
	Name, Message, Place, Log string
	Command                   string // that shows the whole log
	Link                      string // to the page of the step; "": it has none
}

// wayBack leads from a failure to a checkpoint before it.
type wayBack struct {
	Text                 string // when the checkpoint was made
	Difference, Rollback string // the pages that show what has changed since then, and what a rollback would do
}

// phase is a phase with its steps.
type phase struct {
	ID     string
	Label  string
	Open   bool       // its steps are listed without being asked for
	Mark   graph.Mark // its text counts the workstreams
	Groups []group
	Gates  []gate
}

// group are the instances of a block, or one workstream.
type group struct {
	ID     string
	Name   string
	Mark   graph.Mark // its text counts the workstreams
	Folded bool       // they are only counted until someone opens the group
	Bars   []bar      // when any of them ran
	Rows   []row
}

// row is a workstream.
type row struct {
	ID, Name, Title string
	Mark            graph.Mark
	Took            string
	Attempts        int
	Gates           []gate
	Bars            []bar
	Critical        bool
	Why             string
	Link            string // to its own page; "": it has none
}

// gate is a gate with its evidence.
type gate struct {
	Name, Owner string
	Mark        graph.Mark
	Special     bool // it has not simply passed
	Evidence    string
}

type metric struct {
	Name, Value, Before string
	Sessions            int
	Line                string // the points of its line
	Low, High           string
	LastX, LastY        string
}

type checkpoint struct {
	ID, Step, Trigger, Phase, Created, Status string
	Link                                      string
	Mark                                      graph.Mark
}

type rollback struct{ At, Text string }

type output struct{ Workstream, Name, Value string }

type past struct {
	Session, Begun, Result, Runs, Done, Took, Slower string
	Current                                          bool
	Link                                             string // compares it with the current session; "": nothing does
}

// newSession brings an overview into the order of the page.
func newSession(cmdline advice.CommandLine, o *info.Overview) (*session, error) {
	st := o.Status
	s := &session{
		Heading: view.Named(st.PRD, st.Title), Now: o.Now.UTC().Format(time.DateTime), Facts: st.Facts(cmdline, info.FactsOptions{Now: o.Now, Lasting: true}), Next: st.Next,
		Result: graph.Mark{Class: info.ClassOf(st.Style()), Text: st.StatusText()},
	}
	s.addWaiting(o)
	for _, f := range o.Failures {
		s.Failures = append(s.Failures, newFailure(cmdline, st.PRD, f))
	}
	if o.State == nil {
		return s, nil
	}
	s.addPhases(o)
	s.addGates(o)
	s.addMetrics(o)
	s.addCheckpoints(o)
	s.addHistory(o)
	for _, w := range o.Outputs.Workstreams {
		for _, name := range w.Names() {
			value, _ := w.Value(name)
			s.Outputs = append(s.Outputs, output{w.Name, name, value.Shown()})
		}
	}
	marks := st.Marks()
	var err error
	s.Picture, err = draw(o.Graph, graph.Drawing{Mark: func(name string) graph.Mark { return marks[name] }, Link: func(name string) string { return "#" + idOf(name) }, Critical: o.Critical, Inside: true})
	return s, err
}

// idOf returns the id of the row of a workstream.
func idOf(name string) string { return "step-" + template.URLQueryEscaper(name) }

func (s *session) addWaiting(o *info.Overview) {
	add := func(gates []info.WaitingGate) {
		for _, q := range gates {
			w := waiting{Text: q.Describe(o.Now), Message: q.LongMessage()}
			if j := q.Judged; j != nil {
				w.Judged = slices.DeleteFunc(j.Facts(), func(f info.Fact) bool { return f.Value == "" })
				w.Changes, w.Difference = info.FirstOf(j.Files.Lines()), string(j.Files.Difference)
			}
			s.Waiting = append(s.Waiting, w)
		}
	}
	add(o.Status.Waiting)
	for _, called := range o.Status.Called {
		add(called.Waiting)
	}
}

func newFailure(cmdline advice.CommandLine, prd string, f info.FailedStep) failure {
	shown := failure{Name: view.FailedStep(f.Failure), Message: string(f.Message), Log: f.Log}
	if f.File != "" {
		shown.Place = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	if f.Failure.Log != "" && shown.Name != "" {
		shown.Command = cmdline.Command(info.LogsCommand(prd, shown.Name))
	}
	return shown
}

// addPhases adds the phases with the rows of their workstreams.
func (s *session) addPhases(o *info.Overview) {
	marks, scale := o.Status.Marks(), newScale(o.Timeline)
	s.Span, s.Critical = view.Duration(scale.total), len(o.Critical) > 0
	if n := len(o.Timeline.Runs); n > 1 {
		s.Span += fmt.Sprintf(" in %d runs, without the time between them", n)
	}
	bars := scale.bars(o.Timeline, o.Status.Owner != nil)
	many := 0
	for _, p := range o.Status.Phases {
		many += len(p.Workstreams)
	}
	for i, p := range o.Status.Phases {
		shown := phase{ID: fmt.Sprintf("phase-%d", i+1), Label: fmt.Sprintf("%d %s", i+1, view.Named(p.Name, p.Title)) + info.IterationOf(p)}
		var tally graph.Tally
		for _, w := range info.InOrder(p.Workstreams) {
			r := row{
				ID: idOf(w.Name), Name: w.Name, Title: w.Title, Mark: marks[w.Name], Attempts: w.Attempts, Bars: bars[w.Name],
				Critical: slices.Contains(o.Critical, w.Name), Gates: gatesOf(w.Gates, marks),
			}
			if took := o.Status.Took(w, o.Now); took > 0 {
				r.Took = view.Duration(took)
			}
			r.Why = info.WhyReused(w)
			if run := o.Reasons[w.Name]; r.Why == "" && run != nil && len(run.Cause.Changes)+len(run.Cause.Because) > 0 {
				r.Why = run.Cause.Chain()
			}
			tally.Add(r.Mark)
			block := view.Block(w.Name)
			if n := len(shown.Groups); n == 0 || shown.Groups[n-1].Name != block || block == w.Name {
				shown.Groups = append(shown.Groups, group{ID: "block-" + template.URLQueryEscaper(block), Name: block})
			}
			last := &shown.Groups[len(shown.Groups)-1]
			last.Rows = append(last.Rows, r)
		}
		for i := range shown.Groups {
			shown.Groups[i].fold()
		}
		shown.Gates = gatesOf(p.Gates, marks)
		for _, g := range shown.Gates {
			tally.Weigh(g.Mark)
		}
		shown.Mark = tally.Mark()
		shown.Open = many <= mostOpen || shown.Mark.Class != graph.ClassDone && shown.Mark.Class != graph.ClassAside
		s.Phases = append(s.Phases, shown)
	}
}

// mostOpen is how many workstreams a session has at most whose phases are all open. Otherwise those that are done are closed.
const mostOpen = 300

// mostUnfolded is how many instances of a block are listed without being asked for.
const mostUnfolded = 12

// fold counts the instances of a group if there are many.
func (g *group) fold() {
	var tally graph.Tally
	for _, r := range g.Rows {
		tally.Add(r.Mark)
	}
	g.Mark, g.Folded = tally.Mark(), len(g.Rows) > mostUnfolded
	if g.Folded {
		g.Bars = joined(g.Rows)
	}
}

func gatesOf(gates []*state.Gate, marks map[string]graph.Mark) []gate {
	var all []gate
	for _, g := range gates {
		name, owner, _ := state.CutLabel(g.Label)
		all = append(all, gate{Name: name, Owner: owner, Mark: marks[g.Label], Special: g.Status != state.Passed, Evidence: info.Evidence(g)})
	}
	return all
}

// addGates adds the gates that say more than that a command has passed.
func (s *session) addGates(o *info.Overview) {
	marks := o.Status.Marks()
	add := func(gates []*state.Gate) {
		for _, g := range gatesOf(gates, marks) {
			if g.Special || g.Evidence != "" {
				s.Gates = append(s.Gates, g)
			}
		}
	}
	for _, p := range o.Status.Phases {
		for _, w := range info.InOrder(p.Workstreams) {
			add(w.Gates)
		}
		add(p.Gates)
	}
}

func (s *session) addCheckpoints(o *info.Overview) {
	for _, c := range slices.Backward(o.Checkpoints.Checkpoints) {
		status, style := info.CheckpointStatus(c.CheckpointRef, c.Current)
		s.Checkpoints = append(s.Checkpoints, checkpoint{
			ID: c.ID, Step: strings.TrimSuffix(fmt.Sprintf("%d - %s", c.Step, c.StepName), " - "), Trigger: string(c.Trigger), Phase: c.Phase,
			Created: c.CreatedAt.UTC().Format(time.DateTime), Status: strings.Replace(status, "← "+string(view.Current), "current", 1), Mark: graph.Mark{Class: info.ClassOf(style)},
		})
	}
	for _, r := range slices.Backward(o.Checkpoints.Rollbacks) {
		s.Rollbacks = append(s.Rollbacks, rollback{r.At.UTC().Format(time.DateTime), info.DescribeRollback(r)})
	}
}

// noSession stands for the id of a session that can't be read.
const noSession = "-"

func (s *session) addHistory(o *info.Overview) {
	for _, h := range slices.Backward(o.History.Sessions) {
		if h.Damaged != "" {
			s.History = append(s.History, past{Session: noSession, Result: h.Result()})
			continue
		}
		var slower []string
		for _, d := range h.Slower {
			slower = append(slower, fmt.Sprintf("%s %s (median %s)", d.Name, info.Took(d.TookMS), info.Took(d.MedianMS)))
		}
		s.History = append(s.History, past{
			Session: state.ShortSession(h.Session), Begun: h.CreatedAt.UTC().Format(time.DateTime), Result: h.Result(), Runs: fmt.Sprint(h.Runs),
			Done: h.Workstreams.String(), Took: info.Took(h.RanMS), Slower: cmp.Or(strings.Join(slower, ", "), "-"), Current: h.Session == o.Status.Session,
		})
	}
}
