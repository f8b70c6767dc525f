package manual

import (
	"fmt"
	"strings"
)

// escape makes text stand for itself: a backslash begins an escape, a dot or an apostrophe at
// the beginning of a line a request, and a plain hyphen may become a dash.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return ascii(text)
}

// ascii replaces characters outside of ASCII by escapes that every roff knows.
func ascii(text string) string {
	var b strings.Builder
	for _, c := range text {
		if c < 0x80 {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, c)
		}
	}
	return b.String()
}

// quote makes text one argument of a request.
func quote(text string) string { return `"` + strings.ReplaceAll(escape(text), `"`, `\(dq`) + `"` }

// title begins a page. The date, which would change with each build, is empty.
func (r *roff) title(name, source string) {
	fmt.Fprintf(r, ".TH %s 1 \"\" %s %s\n.nh\n.ad l\n", quote(strings.ToUpper(name)), quote(source), quote("Runner Manual"))
}

func (r *roff) section(heading string) { fmt.Fprintf(r, ".SH %s\n", quote(heading)) }

func (r *roff) line(text string) { fmt.Fprintln(r, escape(text)) }

// bold writes a line that begins in bold.
func (r *roff) bold(bold, rest string) {
	fmt.Fprintf(r, "\\fB%s\\fP%s\n", escape(bold), escape(rest))
}

// item writes a term and its description.
func (r *roff) item(term, description string) {
	fmt.Fprintf(r, ".TP\n\\fB%s\\fP\n%s\n", escape(term), escape(strings.ReplaceAll(description, "\n", " ")))
}

// text writes paragraphs, which empty lines separate. A paragraph with an indented line, or
// with the items of a list, keeps its lines.
func (r *roff) text(text string) {
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			fmt.Fprintln(r, ".PP")
		}
		lines := strings.Split(paragraph, "\n")
		keep := false
		for _, line := range lines {
			keep = keep || strings.HasPrefix(line, " ") || strings.HasPrefix(line, "- ")
		}
		if keep {
			r.verbatim(lines)
			continue
		}
		for _, line := range lines {
			r.line(line)
		}
	}
}

// verbatim writes lines as they are.
func (r *roff) verbatim(lines []string) {
	fmt.Fprintln(r, ".nf")
	for _, line := range lines {
		if line == "" {
			fmt.Fprintln(r, ".sp")
			continue
		}
		r.line(line)
	}
	fmt.Fprintln(r, ".fi")
}
