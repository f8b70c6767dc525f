package view

import (
	"fmt"
	"strings"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/progress"
	"prdrunner/runner/stream"
)

// plain prints a line per boundary, and whole commits at once.
type plain struct {
	out     output
	page    Page
	logs    Logs
	verbose bool
	now     func() time.Time

	titles       map[string]string     // of workstreams
	numbers      map[string]int        // of phases
	phases       map[string]string     // titles of phases
	began        map[string]time.Time  // start times of running phases, workstreams and gates
	work         map[string]state.Work // of finished workstreams with running gates
	reasonShown  map[string]bool       // steps whose reason to run again was shown with the plan
	failureShown map[string]bool       // gates whose failure has been shown
	prd          string
	progress     *progress.Progress
	artifacts    map[state.Text]bool // made or changed since the last checkpoint that was shown
	stopping     bool                // the user was told that the run stops
	markup       Markup
	stream       *stream.Reader    // nil: what the steps print is not shown
	nameWidth    int               // the columns of the names before lines of their output
	goesOn       map[string]bool   // steps whose last line of output has no end yet
	streamed     map[string]string // by step: the name of the log whose lines were printed last
	heartbeat    time.Duration     // after how long without output beat prints; 0: never
	printed      time.Time         // when something was printed last, if there is a heartbeat
	past         uint64            // see Options
	left         left              // how long the run still takes
	framed       bool              // what is active is shown below
}

func newPlain(o Options) *plain {
	v := &plain{
		out:          output{w: o.Out},
		page:         Page{color: o.Color},
		logs:         o.Logs,
		verbose:      o.Verbose,
		now:          o.Now,
		titles:       map[string]string{},
		numbers:      map[string]int{},
		phases:       map[string]string{},
		began:        map[string]time.Time{},
		work:         map[string]state.Work{},
		reasonShown:  map[string]bool{},
		failureShown: map[string]bool{},
		artifacts:    map[state.Text]bool{},
		goesOn:       map[string]bool{},
		streamed:     map[string]string{},
		progress:     progress.New(runner.Beginning{}),
		markup:       o.Markup,
		heartbeat:    o.Heartbeat,
		past:         o.Past,
		left:         left{read: o.Typical},
	}
	if o.Stream {
		v.stream = stream.New(o.Logs.Dir)
	}
	v.page.neutral = o.Neutral
	if v.markup != nil {
		v.page.neutral = v.markup.Neutral
	}
	return v
}

// Err implements View.
func (v *plain) Err() error { return v.out.err }

// Close implements View.
func (v *plain) Close() {
	v.left.end()
	v.closeStream()
	v.writePage()
}

// Begin implements runner.View.
func (v *plain) Begin(b runner.Beginning) {
	v.printBegin(b)
	v.writePage()
}

// Commit implements runner.View.
func (v *plain) Commit(c state.Commit) {
	v.printCommit(c)
	v.writePage()
}

// Warn implements runner.View.
func (v *plain) Warn(message string) {
	v.printWarning(message)
	v.writePage()
}

// Stop implements runner.View.
func (v *plain) Stop(s runner.Stopping) {
	v.printStop(s)
	v.writePage()
}

// Await implements runner.View. A heartbeat names it.
func (v *plain) Await(q runner.Awaited) { v.progress.Await(q) }

// End implements runner.View.
func (v *plain) End(e runner.Ending) {
	v.left.end()
	v.printEnd(e)
	v.writePage()
}

func (v *plain) writePage() {
	if v.heartbeat > 0 && v.page.Len() > 0 {
		v.printed = v.now()
	}
	_, _ = v.out.Write(v.page.Bytes()) // Err returns the error
	v.page.Reset()
}

func (v *plain) printBegin(b runner.Beginning) {
	v.prd, v.progress = b.PRD, progress.New(b)
	v.left.begin(b.Session, v.now())
	if b.Plan != nil {
		v.rememberPlan(b.Plan, b.Resumed)
		v.alignNames(b.Plan)
	}
	if b.Resumed && b.Plan != nil {
		writeResume(&v.page, b.Plan)
		return
	}
	v.page.Line("%s  %s", v.page.Paint(Bold, Named(b.PRD, b.Title)), v.page.Paint(Dim, "session "+b.Session))
}

// rememberPlan takes titles and numbers from the plan, because events lack them.
func (v *plain) rememberPlan(p *plan.Plan, resumed bool) {
	for _, phase := range p.Phases {
		v.numbers[phase.Name], v.phases[phase.Name] = phase.Number, phase.Title
		for _, s := range phase.Steps {
			if s.Kind == plan.WorkstreamStep {
				v.titles[s.Name] = s.Title
			}
			v.reasonShown[s.Name] = resumed && repeatsWork(s) && s.Decision != plan.Depends
		}
	}
}

func (v *plain) printCommit(c state.Commit) {
	v.progress.Commit(c)
	before := v.page.Len()
	for i, e := range c.Events {
		v.rememberArtifacts(e)
		if v.stream != nil {
			v.stream.Apply(e, v.printOutput)
		}
		v.printEvent(c.At(i), e)
	}
	if v.past == 0 || c.Seq > v.past {
		return
	}
	v.page.Truncate(before)
	clear(v.streamed)
	if c.Seq == v.past {
		v.printPast()
	}
}

// printPast says in one line what was done before the view began, and where the run is.
func (v *plain) printPast() {
	if sums := v.sums(); sums != "" {
		v.page.Line("%s", v.page.Paint(Dim, "So far: "+sums))
	}
	if current := v.progress.Current(); current != nil {
		v.printPhase(current.Name)
	}
	if !v.framed && len(v.progress.Active()) > 0 {
		v.printActive(v.now())
	}
}

// printPhase begins a section for a phase.
func (v *plain) printPhase(name string) {
	v.page.WriteByte('\n')
	v.page.Line("%s", v.page.Paint(Bold, v.phaseTitle(name)))
}

func (v *plain) printWarning(message string) {
	v.page.Line("%s %s", v.page.Paint(Yellow, "!"), message)
}

// printStop says what the run waits for after a signal, how long, and what a second one does.
func (v *plain) printStop(s runner.Stopping) {
	var running []string
	for _, a := range v.progress.Active() {
		if a.Activity.Runs() {
			running = append(running, a.Name)
		}
	}
	signal := s.Signal
	if v.framed && signal == "SIGINT" { // by a key
		signal = "Ctrl+C"
	}
	switch {
	case s.KillAt.IsZero() && v.stopping:
		v.printWarning(signal + " again: kills what still runs")
	case s.KillAt.IsZero():
		v.printWarning(signal + ": kills what still runs")
	case len(running) == 0:
		v.printWarning(signal + ": stops")
	default:
		left := clock(s.KillAt.Sub(v.now()) + time.Second - 1)
		v.printWarning(fmt.Sprintf("%s: waits up to %s for %s; a second %s kills what still runs", signal, left, fitNames(running, 60), signal))
	}
	v.stopping = true
}

// titled returns the name of a workstream with its title.
func (v *plain) titled(workstream string) string { return Named(workstream, v.titles[workstream]) }

func (v *plain) startTimer(name string, at time.Time) { v.began[name] = at }

// elapsed returns the time since startTimer, and removes the step from the running ones.
func (v *plain) elapsed(name string, at time.Time) string {
	began, ok := v.began[name]
	delete(v.began, name)
	if !ok {
		return ""
	}
	return Duration(max(0, at.Sub(began)))
}

// printDone prints a completed step with its duration.
func (v *plain) printDone(indent, what, took string, more ...string) {
	v.printLine(indent, v.page.Paint(Green, "✓"), what, took, more...)
}

// printNeutral prints a boundary that is neither a success nor a failure.
func (v *plain) printNeutral(indent, what string, more ...string) {
	v.printLine(indent, v.page.Paint(Dim, "-"), what, "", more...)
}

// printAttention prints a boundary that needs the user's attention.
func (v *plain) printAttention(what string, more ...string) {
	v.printLine("  ", v.page.Paint(Yellow, "!"), what, "", more...)
}

func (v *plain) printLine(indent string, mark Painted, what, took string, more ...string) {
	after := v.page.Paint(Dim, took)
	if took != "" {
		after = gap + after
	}
	var rest []string
	for _, m := range more {
		if m != "" {
			rest = append(rest, m)
		}
	}
	if len(rest) == 0 {
		v.page.Line("%s%s %s%s", Painted(indent), mark, what, after)
		return
	}
	v.page.Line("%s%s %s%s: %s", Painted(indent), mark, what, after, strings.Join(rest, ", "))
}
