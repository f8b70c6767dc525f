package sink

import (
	"fmt"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/view"
)

// Question is what a gate asks that waits for a person, for readers who were not there when the run paused.
type Question struct {
	Gate    string
	Message state.Text // of any number of lines
	Facts   []string   // what a person judges who answers, a line each: Files: 2 modified …
	Files   []string   // those that changed, a line each
	More    string     // the command that shows the differences of the files, "" if nothing is known of them
	// Answers are the commands that answer, none if there can't be an answer any more.
	Answers []string
}

// questions writes what a run that paused asks, and how to answer. Of an interrupted run it writes
// nothing: the CI system that ended it does not wait until the files are compared.
func (m *markdown) questions(a *account, o Options) {
	if o.Questions == nil || a.ending.Pause == nil || a.ending.Signal != "" {
		return
	}
	asked := o.Questions()
	for i, q := range asked {
		if i == 0 {
			m.WriteString("### Waits for an answer\n\n")
		}
		if i == maxListed {
			m.printf("… and %d more\n\n", len(asked)-i)
			break
		}
		m.question(q)
	}
}

func (m *markdown) question(q Question) {
	m.printf("**%s**\n\n", escape(q.Gate))
	if q.Message != "" {
		m.block(limited(strings.TrimRight(string(q.Message), "\r\n")))
	}
	for _, fact := range q.Facts {
		m.printf("- %s\n", escape(fact))
	}
	if len(q.Facts) > 0 {
		m.WriteByte('\n')
	}
	if files := q.Files; len(files) > 0 {
		m.block(strings.Join(firstLines(files), "\n"))
	}
	if q.More != "" {
		m.printf("The differences: %s\n\n", code(q.More))
	}
	if len(q.Answers) == 0 {
		m.WriteString("The time for an answer is over.\n\n")
		return
	}
	m.WriteString("To answer:\n\n")
	m.block(strings.Join(q.Answers, "\n"))
}

// firstLines returns each text in one line, and the number of those that are too many for a summary.
func firstLines(texts []string) []string {
	var lines []string
	for i, text := range texts {
		if i == maxListed {
			return append(lines, fmt.Sprintf("… and %d more", len(texts)-i))
		}
		lines = append(lines, limited(view.OneLine(text)))
	}
	return lines
}

// limited cuts a text that is too long for a summary.
func limited(text string) string {
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText]) + "…"
	}
	return text
}
