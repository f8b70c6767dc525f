package sink

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/view"
)

const (
	summaryOpening = "<!-- Written by runner. -->\n"

	// GitHub shows at most 1 MiB of one step, so everything is bounded:
	maxExcerpts = 10   // failures of which the summary shows the log
	maxListed   = 20   // rows of a list, and names in one
	maxPhases   = 200  // rows of the table of phases
	maxText     = 1000 // characters of a text from outside
)

// writeSummary writes a summary of the run as Markdown, with one section for each function
// that it calls.
func writeSummary(w io.Writer, a *account, o Options) error {
	var m markdown
	m.WriteString(summaryOpening)
	m.result(a)
	m.questions(a, o)
	m.failures("Failures", a.ending.Failures(), a, o)
	m.failures("Failures that are allowed", a.ending.Allowed, a, o)
	m.phases(a)
	if o.State != nil {
		m.metrics(o.State())
	}
	m.reused(a)
	m.slowest(a)
	_, err := w.Write(m.Bytes())
	return err
}

// markdown collects a text in GitHub's Markdown. Nothing from outside is Markdown or HTML.
type markdown struct{ bytes.Buffer }

func (m *markdown) printf(format string, args ...any) { fmt.Fprintf(&m.Buffer, format, args...) }

func (m *markdown) result(a *account) {
	e := a.ending
	mark, result := "❌", string(e.Status)
	switch {
	case e.Done():
		mark = "✅"
	case e.Signal != "":
		mark, result = "⏸️", "interrupted by "+e.Signal
	case e.Status == state.StatusPaused:
		mark = "⏸️"
	case e.Status == state.StatusInProgress:
		mark, result = "⏳", "not ended"
	}
	m.printf("## %s %s: %s\n\n", mark, escape(view.Named(a.PRD, a.Title)), escape(result))
	m.printf("Session %s, %s", code(state.ShortSession(a.Session)), view.Duration(e.Duration))
	if a.checkpoint != "" {
		m.printf(", checkpoint %s", code(a.checkpoint))
	}
	m.WriteString("\n\n")
	if e.Pause != nil {
		m.printf("Paused: %s\n\n", escape(view.Waits(*e.Pause)))
	}
	if len(e.Next) > 0 && !e.Done() {
		m.WriteString("Next:\n\n")
		m.block(strings.Join(texts(e.Next), "\n"))
	}
}

func (m *markdown) failures(title string, failures []state.Failure, a *account, o Options) {
	for i, f := range failures {
		if i == 0 {
			m.printf("### %s\n\n", title)
		}
		if i == maxListed {
			m.printf("… and %d more\n\n", len(failures)-i)
			break
		}
		m.printf("**%s**", escape(cmp.Or(view.FailedStep(f), a.PRD)))
		if at := view.Location(f); at != "" {
			m.printf(" at %s", code(at))
		}
		m.printf(": %s\n\n", escape(string(f.Message)))
		if f.Log == "" || i >= maxExcerpts {
			continue
		}
		tail, err := view.Tail(filepath.Join(o.Logs.Dir, string(f.Log)))
		if err != nil {
			tail = []string{err.Error()}
		}
		if len(tail) > 0 {
			m.block(strings.Join(tail, "\n"))
		}
	}
}

func (m *markdown) phases(a *account) {
	m.WriteString("### Phases\n\n| Phase | Workstreams | Gates |\n|---|---|---|\n")
	for i, p := range a.phases {
		if i == maxPhases {
			m.printf("| … and %d more | | |\n", len(a.phases)-i)
			break
		}
		name := escape(view.Named(p.name, p.title))
		if p.skipped != "" {
			m.printf("| %s | skipped: %s | |\n", name, escape(string(p.skipped)))
			continue
		}
		m.printf("| %s | %s | %s |\n", name, p.counts(false), p.counts(true))
	}
	m.WriteByte('\n')
}

// counts says how many workstreams or gates of a phase have which status.
func (p *phase) counts(gates bool) string {
	n := map[status]int{}
	for _, s := range p.steps {
		if s.gate == gates {
			n[s.status]++
		}
	}
	var parts []string
	for _, of := range []struct {
		status     status
		mark, what string
	}{
		{passed, "✅", "passed"}, {reused, "♻️", "reused"}, {failed, "❌", "failed"}, {allowed, "⚠️", "failed, which is allowed"},
		{skipped, "⏭️", "skipped"}, {waiting, "⏸️", "waiting"}, {started, "⏹️", "stopped"}, {pending, "⬜", "not done"},
	} {
		if n[of.status] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d %s", of.mark, n[of.status], of.what))
		}
	}
	return strings.Join(parts, ", ")
}

// metrics writes the metrics of the session beside those of the last complete one.
func (m *markdown) metrics(st *state.State) {
	if st == nil || len(st.Metrics) == 0 {
		return
	}
	m.WriteString("### Metrics\n\n| Metric | Now | Last complete session |\n|---|---|---|\n")
	for i, name := range slices.Sorted(maps.Keys(st.Metrics)) {
		if i == maxListed {
			m.printf("| … and %d more | | |\n", len(st.Metrics)-i)
			break
		}
		before := ""
		if b, ok := st.Baseline[name]; ok {
			before = value(b.Value)
		}
		m.printf("| %s | %s | %s |\n", escape(name), escape(value(st.Metrics[name].Value)), escape(before))
	}
	m.WriteByte('\n')
}

func value(v any) string {
	if n, ok := v.(json.Number); ok {
		return n.String()
	}
	return fmt.Sprint(v)
}

// reused writes which workstreams were not run, by the reason.
func (m *markdown) reused(a *account) {
	names := map[string][]string{}
	for _, p := range a.phases {
		for _, s := range p.steps {
			why := ""
			switch {
			case s.gate:
			case s.status == reused:
				why = "reused: " + s.reason
			case s.status == skipped && p.skipped == "":
				why = "skipped: " + s.reason
			}
			if why != "" {
				names[why] = append(names[why], s.name)
			}
		}
	}
	if len(names) == 0 {
		return
	}
	m.WriteString("### Not run\n\n")
	for i, why := range slices.Sorted(maps.Keys(names)) {
		if i == maxListed {
			m.printf("- … and %d more reasons\n", len(names)-i)
			break
		}
		m.printf("- %s (%s)\n", escape(why), list(names[why]))
	}
	m.WriteByte('\n')
}

func (m *markdown) slowest(a *account) {
	slow := a.slowest(5)
	if len(slow) < 2 {
		return
	}
	m.WriteString("### Slowest\n\n")
	for _, s := range slow {
		m.printf("- %s %s\n", escape(s.name), view.Duration(s.took))
	}
	m.WriteByte('\n')
}

// list returns names, at most maxListed of them.
func list(names []string) string {
	var all []string
	for _, name := range names[:min(len(names), maxListed)] {
		all = append(all, escape(name))
	}
	text := strings.Join(all, ", ")
	if more := len(names) - maxListed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// block writes text as it is, in a fence that it can't close.
func (m *markdown) block(text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	m.printf("%stext\n%s\n%s\n\n", fence, view.Clean(text), fence)
}

// code returns text as inline code that it can't close.
func code(text string) string {
	text = view.OneLine(text)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		text = " " + text + " "
	}
	return fence + text + fence
}

// escape returns text in one line, in which no character means anything to Markdown or HTML.
func escape(text string) string {
	var b strings.Builder
	before := rune(0)
	for i, r := range []rune(view.OneLine(text)) {
		if i == maxText {
			b.WriteRune('…')
			break
		}
		switch r {
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '&':
			b.WriteString("&amp;")
		case '@', '#': // with what follows, GitHub would make a notification or a link of them
			b.WriteRune(r)
			b.WriteRune('\u2060') // a word joiner, which nobody sees
		case '\\', '`', '*', '_', '{', '}', '[', ']', '(', ')', '+', '-', '!', '|', '~', '$', ':':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '.':
			if before == 'w' || before == 'W' { // www. begins a link
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}

func texts(all []state.Text) []string {
	out := make([]string, len(all))
	for i, t := range all {
		out[i] = string(t)
	}
	return out
}
