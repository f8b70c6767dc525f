package show

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"prdrunner/cmd/runner/docs"
	"prdrunner/runner/view"
)

// Manual prints a page of the manual, which is Markdown. A width of 0 is that of no terminal.
func Manual(w io.Writer, text string, width int) error {
	p := newPage(w)
	printMarkdown(p, text, width, func(heading string) { p.Printf("%s\n", p.Paint(view.Bold, heading)) })
	return p.end()
}

// ManualTopics lists the pages of the manual.
func ManualTopics(w io.Writer, groups []docs.Group, width int) error {
	p := newPage(w)
	for _, g := range groups {
		p.Printf("%s\n", p.Paint(view.Bold, g.Heading))
		for _, page := range g.Pages {
			named(p, page.Name, page.Summary, width)
		}
		p.Printf("\n")
	}
	p.Printf("`runner help TOPIC` prints a page, and `runner serve` shows them in a browser.\n")
	return p.end()
}

// markdown prints Markdown line by line.
type markdown struct {
	w         io.Writer
	width     int
	heading   func(text string) // prints a heading
	paragraph []string          // lines that are to be wrapped together
	table     [][]string        // rows of cells that are to be printed together
	fenced    bool              // the lines are code
	mistaken  bool              // the code before these lines is a mistake
}

// printMarkdown prints Markdown that has headings, paragraphs, lists, tables and code. Text is wrapped at the width of the
// terminal, code is not. A heading of nil prints headings like text.
func printMarkdown(w io.Writer, text string, width int, heading func(text string)) {
	if heading == nil {
		heading = func(text string) { fmt.Fprintln(w, text) }
	}
	m := &markdown{w: w, width: width, heading: heading}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		m.line(line)
	}
	m.flush()
}

func (m *markdown) line(line string) {
	info, fence := strings.CutPrefix(line, "```")
	item := regexp.MustCompile(`^(- |[0-9]+\. )`)
	switch {
	case fence:
		m.flush()
		m.fence(info)
	case m.fenced || strings.HasPrefix(line, "    ") && len(m.paragraph) == 0:
		m.flush()
		if m.fenced && line != "" {
			line = "    " + line
		}
		fmt.Fprintln(m.w, line)
	case strings.HasPrefix(line, "<!--"):
	case line == "":
		m.flush()
		fmt.Fprintln(m.w)
	case strings.HasPrefix(line, "#"):
		m.flush()
		m.mistaken = false
		m.heading(strings.TrimLeft(line, "# "))
	case strings.HasPrefix(line, "|"):
		m.table = append(m.table, rowCells(line))
	case item.MatchString(line):
		m.flush()
		m.paragraph = []string{line}
	default:
		m.paragraph = append(m.paragraph, strings.TrimSpace(line))
	}
}

// fence begins or ends a block of code.
func (m *markdown) fence(info string) {
	m.fenced = !m.fenced
	parts := strings.Fields(info)
	switch {
	case strings.HasPrefix(info, "hcl mistake"):
		m.mistaken = true
		fmt.Fprintln(m.w, "    # not like this:")
	case m.fenced && m.mistaken:
		m.mistaken = false
		fmt.Fprintln(m.w, "    # but like this:")
	case m.fenced && len(parts) == 2:
		fmt.Fprintln(m.w, "    # "+parts[1])
	}
}

// flush prints the lines that belong together.
func (m *markdown) flush() {
	if text := strings.Join(m.paragraph, " "); text != "" {
		m.mistaken = false
		text = plain(text)
		indent := 0
		if mark, _, isItem := strings.Cut(text, " "); isItem && (mark == "-" || strings.HasSuffix(mark, ".") && mark[0] >= '0' && mark[0] <= '9') {
			indent = len(mark) + 1
		}
		fmt.Fprintln(m.w, text[:indent]+strings.TrimLeft(wrap(text[indent:], m.width, strings.Repeat(" ", indent)), " "))
	}
	m.paragraph = nil
	m.printTable()
}

// printTable prints the rows that belong together. A table with two columns becomes a list of names with texts beside them.
// One with more columns becomes a list of its rows, since few terminals are wide enough.
func (m *markdown) printTable() {
	if len(m.table) < 2 {
		m.table = nil
		return
	}
	header, rows := m.table[0], m.table[2:] // the second row is a line
	m.table = nil
	for _, row := range rows {
		if len(row) == 2 {
			named(m.w, row[0], row[1], m.width)
			continue
		}
		fmt.Fprintln(m.w, wrap(row[0], m.width, "  "))
		for i := 1; i < len(row) && i < len(header); i++ {
			if text := row[i]; text != "" && header[i] != "" {
				text = header[i] + ": " + text
				fmt.Fprintln(m.w, wrap(text, m.width, "    "))
			} else if text != "" {
				fmt.Fprintln(m.w, wrap(text, m.width, "    "))
			}
		}
	}
}

// rowCells returns the cells of a row of a table.
func rowCells(line string) []string {
	const bar = "\x00"
	var all []string
	line = strings.ReplaceAll(strings.TrimSpace(line), `\|`, bar)
	for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		all = append(all, plain(strings.ReplaceAll(strings.TrimSpace(cell), bar, "|")))
	}
	return all
}

// plain replaces links by their texts, and leaves out the marks of bold text. What stands between backquotes stays.
func plain(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.ReplaceAll(parts[i], "**", "")
	}
	return regexp.MustCompile(`\[([^\[\]]+)\]\([^()\s]+\)`).ReplaceAllString(strings.Join(parts, "`"), "$1")
}

// named prints a name, and a text beside it if the name is short, else below it.
func named(w io.Writer, name, text string, width int) {
	const column = 20
	indent := strings.Repeat(" ", column+2)
	if len(name) >= column {
		fmt.Fprintf(w, "%s\n%s\n", wrap(name, width, "  "), wrap(text, width, indent))
		return
	}
	fmt.Fprintf(w, "  %-*s%s\n", column, name, strings.TrimPrefix(wrap(text, width, indent), indent))
}
