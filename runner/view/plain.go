package view

import (
	"path/filepath"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// plain prints a line for each boundary, whole commits at a time.
type plain struct {
	out     output
	page    page
	logs    string
	verbose bool

	titles   map[string]string    // of workstreams
	numbers  map[string]int       // of phases
	phases   map[string]string    // titles of phases
	began    map[string]time.Time // of phases, workstreams and gates that are running
	work     map[string]string    // how finished work was made whose gates are still being judged
	told     map[string]bool      // steps whose reason to run again the plan has shown
	shown    map[string]bool      // gates whose failure has been shown
	prd      string
	finished int
}

func newPlain(o Options) *plain {
	return &plain{
		out:     output{w: o.Out},
		page:    page{color: o.Color},
		logs:    o.Logs,
		verbose: o.Verbose,
		titles:  map[string]string{},
		numbers: map[string]int{},
		phases:  map[string]string{},
		began:   map[string]time.Time{},
		work:    map[string]string{},
		told:    map[string]bool{},
		shown:   map[string]bool{},
	}
}

// Err implements View.
func (v *plain) Err() error { return v.out.err }

// Begin implements runner.View.
func (v *plain) Begin(b runner.Beginning) {
	v.begin(b)
	v.flush()
}

// Commit implements runner.View.
func (v *plain) Commit(c checkpoint.Commit) {
	v.commit(c)
	v.flush()
}

// Warn implements runner.View.
func (v *plain) Warn(message string) {
	v.warn(message)
	v.flush()
}

// End implements runner.View.
func (v *plain) End(e runner.Ending) {
	v.end(e)
	v.flush()
}

func (v *plain) flush() {
	_, _ = v.out.Write(v.page.Bytes()) // kept for Err
	v.page.Reset()
}

func (v *plain) begin(b runner.Beginning) {
	v.prd = b.PRD
	if b.Plan != nil {
		v.learn(b.Plan, b.Resumed)
	}
	if b.Resumed && b.Plan != nil {
		writeResume(&v.page, b.Plan)
		return
	}
	v.page.printf("%s  %s\n", v.page.paint(bold, Named(b.PRD, b.Title)), v.page.paint(dim, "session "+b.Session))
}

// learn takes from the plan what events don't say: titles and numbers.
func (v *plain) learn(p *plan.Plan, resumed bool) {
	for _, phase := range p.Phases {
		v.numbers[phase.Name], v.phases[phase.Name] = phase.Number, phase.Title
		for _, s := range phase.Steps {
			if s.Kind == plan.WorkstreamStep {
				v.titles[s.Name] = s.Title
			}
			v.told[s.Name] = resumed && again(s) && s.Decision != plan.Depends
		}
	}
}

func (v *plain) commit(c checkpoint.Commit) {
	for _, e := range c.Events {
		v.event(c.Time, e)
	}
}

func (v *plain) warn(message string) {
	v.page.printf("%s %s\n", v.page.paint(yellow, "!"), message)
}

// name is a workstream with its title.
func (v *plain) name(workstream string) string { return Named(workstream, v.titles[workstream]) }

func (v *plain) start(name string, at time.Time) { v.began[name] = at }

// took is the time since start, after which the step no longer counts as running.
func (v *plain) took(name string, at time.Time) string {
	began, ok := v.began[name]
	delete(v.began, name)
	if !ok {
		return ""
	}
	return Duration(max(0, at.Sub(began)))
}

// done prints a boundary that was reached: mark, what, and how long it took.
func (v *plain) done(indent, what, took string, more ...string) {
	v.line(indent, v.page.paint(green, "✓"), what, took, more...)
}

// passed prints a boundary that is neither success nor failure.
func (v *plain) passed(indent, what string, more ...string) {
	v.line(indent, v.page.paint(dim, "-"), what, "", more...)
}

// asked prints a boundary that wants attention.
func (v *plain) asked(what string, more ...string) {
	v.line("  ", v.page.paint(yellow, "!"), what, "", more...)
}

func (v *plain) line(indent string, mark painted, what, took string, more ...string) {
	v.page.printf("%s%s %s", painted(indent), mark, what)
	if took != "" {
		v.page.printf("  %s", v.page.paint(dim, took))
	}
	rest := make([]string, 0, len(more))
	for _, m := range more {
		if m != "" {
			rest = append(rest, m)
		}
	}
	if len(rest) > 0 {
		v.page.printf(": %s", strings.Join(rest, ", "))
	}
	v.page.WriteByte('\n')
}

func (v *plain) logPath(name checkpoint.Text) string { return filepath.Join(v.logs, string(name)) }
