package sink_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/sink"
	"prdrunner/runner/view"
)

// render returns the HTML of a summary, as a reader of GitHub's Markdown makes it. What is HTML in
// the summary stays HTML, so that a test sees it.
func render(t *testing.T, markdown []byte) string {
	t.Helper()
	var page bytes.Buffer
	must(t, goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe())).Convert(markdown, &page))
	return page.String()
}

// elements returns the names of the elements of a page, each once.
func elements(page string) []string {
	var names []string
	for _, found := range regexp.MustCompile(`<([a-zA-Z][a-zA-Z0-9]*)`).FindAllStringSubmatch(page, -1) {
		names = append(names, found[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// own are the elements that a summary has of itself.
func own() []string {
	return []string{"code", "h2", "h3", "li", "p", "pre", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"}
}

// cells returns the number of cells in each row of each table of a page.
func cells(page string) (rows []int) {
	for row := range strings.SplitSeq(page, "<tr>") {
		if n := strings.Count(row, "<td>") + strings.Count(row, "<th>"); n > 0 {
			rows = append(rows, n)
		}
	}
	return rows
}

// TestSummaryIsRendered holds that a renderer takes the summary as it is meant.
func TestSummaryIsRendered(t *testing.T) {
	t.Parallel()
	summary, err := os.ReadFile("testdata/summary.md")
	must(t, err)
	page := render(t, summary)
	if got := elements(page); !slices.Equal(got, own()) {
		t.Errorf("elements %v, want %v", got, own())
	}
	// Phases: a head and four phases. Metrics: a head and two.
	if got := cells(page); !slices.Equal(got, []int{3, 3, 3, 3, 3, 3, 3, 3}) {
		t.Errorf("cells in rows: %v", got)
	}
	for _, want := range []string{
		"<h2>❌ PRD-009: Pay &lt;b&gt;*now*&lt;/b&gt;: failed</h2>", "<td>build: Build | all</td>", "<strong>unit</strong> at <code>pay/a b.go:3:7</code>: undefined: x\\n``` &lt;script&gt;",
		"<pre><code class=\"language-text\">```\nred &amp; &lt;b&gt;\n::error::x\n", "<td>new|one</td>\n<td>&lt;i&gt;</td>",
	} {
		if !strings.Contains(strings.ReplaceAll(page, "\u2060", ""), want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
}

// TestSummaryHasNoForeignMarkup puts texts that are Markdown or HTML wherever a summary shows one, and
// holds that they stay texts.
func TestSummaryHasNoForeignMarkup(t *testing.T) {
	t.Parallel()
	for _, hostile := range []string{
		"<img src=x onerror=alert(1)>", "</code></pre><script>x</script>", "&lt;b&gt;&#60;b>", "[link](https://example.com)", "![image](x)", "[a]: https://example.com", "<https://example.com>",
		"https://example.com/x", "www.example.com", "WWW.example.com", "(www.example.com)", "www.www.example.com", "me@example.com", "mailto:me@example.com", "ftp://example.com", "a | b | c", "x\n\n# title\n\n- item\n> quote\n---\n", "```\nout", "``` ` ``", "~~~", "~~gone~~ **b** _i_ `c`", "1. one", "- [x] done",
		"\\<b>", "\\", "<!-- open", "| a | b |\n|---|---|", "    indented", "\ttab", "=====", "a  \nb", "- ", "+ x", "* x", "1) x", "xmpp:a@b.c", "_https://example.com_",
	} {
		text := state.Text(hostile)
		f := state.Failure{Workstream: hostile, Outcome: "exited", Message: text, File: text, Line: 3, Log: "unit.1.log"}
		o := options(t)
		must(t, os.WriteFile(o.Logs.Dir+"/unit.1.log", []byte(hostile), 0o600))
		o.State = func() *state.State {
			return &state.State{Metrics: map[string]state.Metric{hostile: {Value: hostile}}, Baseline: map[string]state.Metric{hostile: {Value: hostile}}}
		}
		o.Questions = func() []sink.Question {
			return []sink.Question{{Gate: hostile, Message: text, Facts: []string{"Files: " + hostile}, Files: []string{hostile}, More: hostile, Answers: []string{hostile}}}
		}
		var page string
		s := sink.Hand(sink.Summary, o, func(_ runner.Ending, summary []byte) error {
			page = render(t, summary)
			return nil
		})
		play := func(s view.View) {
			s.Begin(runner.Beginning{PRD: "PRD-009", Title: hostile, Session: hostile, Plan: &plan.Plan{Phases: []plan.Phase{{Name: hostile, Title: hostile, Steps: []plan.Step{
				{Kind: plan.WorkstreamStep, Name: hostile, Decision: plan.Reuse, Reason: text}, {Kind: plan.WorkstreamStep, Name: "b" + hostile, Decision: plan.Run}, {Kind: plan.WorkstreamStep, Name: "c" + hostile, Decision: plan.Run},
			}}, {Name: "two", Steps: []plan.Step{{Kind: plan.WorkstreamStep, Name: "d", Decision: plan.Depends}}}}}})
			for i, e := range []state.Event{
				state.PhaseStarted{Phase: hostile}, state.WorkstreamStarted{Workstream: "b" + hostile, Attempt: 1}, state.WorkstreamStarted{Workstream: "c" + hostile, Attempt: 1},
				state.WorkstreamFailed{Workstream: "b" + hostile, Error: f}, state.WorkstreamCompleted{Workstream: "c" + hostile, Work: &state.Work{Attempt: 1, DurationMS: 9000}},
				state.PhaseSkipped{Phase: "two", Reason: text}, state.CheckpointCreated{ID: hostile},
			} {
				s.Commit(state.Commit{Seq: uint64(i + 1), Time: start().Add(time.Duration(i) * time.Second), Events: []state.Event{e}})
			}
			s.End(runner.Ending{
				Status: state.StatusFailed, Failed: []state.Failure{f}, Allowed: []state.Failure{f}, Next: []state.Text{text},
				Pause: &state.Pause{Reason: state.PauseApproval, Message: text, Gates: []string{hostile}},
			})
		}
		play(s)
		must(t, s.Err())
		if got := slices.DeleteFunc(elements(page), func(name string) bool { return slices.Contains(own(), name) }); len(got) > 0 {
			t.Errorf("%q makes %v of the summary:\n%s", hostile, got, page)
		}
		if got := cells(page); !slices.Equal(got, []int{3, 3, 3, 3, 3}) {
			t.Errorf("%q: cells in rows: %v\n%s", hostile, got, page)
		}
		if n := strings.Count(page, "<h3>"); n != 7 {
			t.Errorf("%q: %d headings, want 7\n%s", hostile, n, page)
		}
	}
}

// TestQuestionsAreBounded holds that what gates ask leaves a summary small enough for GitHub, and that the summary says
// what it leaves out.
func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	const most, longest = 20, 1000
	long := strings.Repeat("日", longest+1)
	files := make([]string, most+3)
	for i := range files {
		files[i] = "~ a.go"
	}
	files[1] = long
	questions := make([]sink.Question, most+2)
	for i := range questions {
		questions[i].Gate = "g (a)"
	}
	questions[0].Message, questions[1].Files = state.Text(long), files
	o := options(t)
	o.Questions = func() []sink.Question { return questions }
	var summary string
	s := sink.Hand(sink.Summary, o, func(_ runner.Ending, text []byte) error {
		summary = string(text)
		return nil
	})
	s.Begin(beginning())
	s.End(runner.Ending{Status: state.StatusPaused, Pause: &state.Pause{Reason: state.PauseApproval, Gates: []string{"g (a)"}}})
	must(t, s.Err())
	cut := strings.Repeat("日", longest) + "…\n"
	for what, count := range map[string]int{
		"**g": most, "\n… and 2 more\n": 1, // questions
		"~ a.go\n": most - 1, "\n… and 3 more\n": 1, // files
		cut: 2, long: 0, // texts
	} {
		if n := strings.Count(summary, what); n != count {
			t.Errorf("%d times %.20q, want %d", n, what, count)
		}
	}
}

// TestQuestionsAreAsked holds that the gates are asked for, which takes a while, only of a run that pauses.
func TestQuestionsAreAsked(t *testing.T) {
	t.Parallel()
	paused := &state.Pause{Reason: state.PauseApproval, Gates: []string{"g (a)"}}
	for name, test := range map[string]struct {
		ending runner.Ending
		want   bool
	}{
		"paused":      {runner.Ending{Status: state.StatusPaused, Pause: paused}, true},
		"failed":      {runner.Ending{Status: state.StatusFailed}, false},
		"complete":    {runner.Ending{Status: state.StatusComplete}, false},
		"interrupted": {runner.Ending{Status: state.StatusPaused, Pause: paused, Signal: "SIGTERM"}, false},
	} {
		o, asked := options(t), false
		o.Questions = func() []sink.Question {
			asked = true
			return []sink.Question{{Gate: "g (a)", Message: "Ship it?"}}
		}
		var summary string
		s := sink.Hand(sink.Summary, o, func(_ runner.Ending, text []byte) error {
			summary = string(text)
			return nil
		})
		s.Begin(beginning())
		s.End(test.ending)
		must(t, s.Err())
		if asked != test.want || strings.Contains(summary, "Ship it?") != test.want {
			t.Errorf("%s: asked: %t\n%s", name, asked, summary)
		}
	}
}
