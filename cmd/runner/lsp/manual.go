package lsp

import (
	"regexp"
	"slices"
	"strings"

	"prdrunner/pipeline"
)

// manual is what the manual of the language says of blocks, arguments and references, as Markdown.
type manual struct {
	sections   map[string]string            // the first paragraph of the section about a block or an argument, by its name
	arguments  map[string]map[string]string // the rows of tables, by the type of the block, and the name of the argument
	references map[string]string            // by the root, such as workstream
}

// newManual reads SPEC.md. Its headings name blocks and arguments. A table whose first column is headed "argument", "bound" or
// "source" describes the arguments of the block above it, or of the one that the head of the column names.
func newManual() *manual {
	m := &manual{map[string]string{}, map[string]map[string]string{}, map[string]string{}}
	block, section := "", "" // section is "" when its first paragraph has ended
	table, inTable, inCode := "", false, false
	for line := range strings.SplitSeq(pipeline.Spec(), "\n") {
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		inRow := strings.HasPrefix(line, "|")
		switch name, isHeading := headingOf(line); {
		case inCode:
		case isHeading:
			section = name
			if isBlock(name) {
				block = name
			}
		case inRow && !inTable:
			table = tableOf(line, block)
		case inRow:
			m.row(table, line)
		case line == "":
			if m.sections[section] != "" {
				section = ""
			}
		case section != "":
			m.sections[section] += line + "\n"
		}
		inTable = inRow
	}
	return m
}

// headingOf returns what a heading is about: its first word, without a number.
func headingOf(line string) (name string, is bool) {
	found := regexp.MustCompile("^##+ (?:\\d+\\. )?`?([\\w.]+)").FindStringSubmatch(line)
	if found == nil {
		return "", false
	}
	return found[1], true
}

func isBlock(name string) bool {
	_, ok := pipeline.BodyOf(name)
	return ok && name != "" || name == "locals"
}

// ofReferences is the table of references, in place of the block that a table belongs to.
const ofReferences = "references"

// tableOf returns the block whose arguments a table describes, given its first line; "" if it describes none.
func tableOf(header, block string) string {
	first := cellsOf(header)[0]
	if of := regexp.MustCompile("^argument of `(\\w+)`").FindStringSubmatch(first); of != nil {
		return of[1]
	}
	switch strings.ToLower(first) {
	case "argument", "argument or block", "source", "bound", "kind":
		return block
	case "reference":
		return ofReferences
	}
	return ""
}

func cellsOf(row string) []string {
	cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// row takes a row of a table.
func (m *manual) row(table, line string) {
	cells := cellsOf(line)
	if table == "" || strings.HasPrefix(cells[0], "--") || len(cells) < 2 {
		return
	}
	said := strings.Join(cells[1:], "; ")
	said = strings.Trim(said, "; ")
	for _, code := range regexp.MustCompile("`(\\w+)").FindAllStringSubmatch(cells[0], -1) {
		if table == ofReferences {
			m.references[code[1]] += "- " + cells[0] + ": " + said + "\n"
			return
		}
		m.setArgument(table, code[1], said)
	}
	if table == "gate" && !strings.Contains(cells[0], "`") { // the kinds of gate, with their arguments
		for _, code := range regexp.MustCompile("`(\\w+)").FindAllStringSubmatch(cells[1], -1) {
			m.setArgument(table, code[1], "of a "+cells[0]+" gate, which passes if "+cells[len(cells)-1])
		}
	}
}

func (m *manual) setArgument(block, name, said string) {
	if m.arguments[block] == nil {
		m.arguments[block] = map[string]string{}
	}
	if m.arguments[block][name] == "" {
		m.arguments[block][name] = said
	}
}

// about says what an argument, or a block that stands in a block, is for; "" if the manual does not say it.
func (m *manual) about(block, name string) string {
	if block == "restart" {
		block = "retry"
	}
	said := m.arguments[block][name]
	// The sections are about blocks, and about arguments of workstreams and of what these stand in.
	if isBlock(name) || slices.Contains([]string{"", "pipeline", "phase", "workstream"}, block) {
		said += "\n\n" + m.sections[name]
	}
	said = strings.ReplaceAll(strings.ReplaceAll(said, " (below)", ""), " (above)", "")
	leadsOn := regexp.MustCompile(`(?s)(^|[.:])([^.:]*):\s*$`) // to an example, which is not shown
	return strings.TrimSpace(leadsOn.ReplaceAllString(strings.TrimSpace(said), "$1"))
}
