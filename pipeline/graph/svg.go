package graph

import (
	"cmp"
	_ "embed" // the style sheet
	"fmt"
	"html"
	"io"
	"maps"
	"slices"
	"strings"

	"prdrunner/pipeline"
)

// Drawing says how a picture is drawn as SVG.
type Drawing struct {
	// Mark returns the mark of a workstream, or of a gate by its label. nil: there are no statuses.
	Mark func(name string) Mark
	// Link returns where the box of a workstream leads to, "" for nowhere. nil: nowhere.
	Link func(name string) string
	// Critical lists the workstreams that decided how long the last run took. They are marked.
	Critical []string
	// Inside says that the picture stands in a page that has Style, and says in words what the picture shows.
	Inside bool
}

// Style is the style sheet of a picture. In a browser that prefers dark pages the picture is dark.
//
//go:embed picture.css
var Style string

// WriteSVG draws a picture.
func (p *Picture) WriteSVG(w io.Writer, d Drawing) error {
	s := &svg{printer: printer{w: w}, Drawing: d}
	title := nodeLabel(p.Graph.PRD, p.Graph.Title)
	s.linef(`<svg xmlns="http://www.w3.org/2000/svg" class="graph" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`,
		p.Width, p.Height, p.Width, p.Height, escaped("The graph of "+title))
	s.linef("<title>%s</title>", escaped(title))
	if !d.Inside {
		s.linef("<style>%s</style>", Style)
	}
	s.linef(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path class="arrow" d="M0 0L8 4L0 8z"/></marker></defs>`)
	for _, band := range p.Bands {
		s.band(band, p.Width)
	}
	for _, l := range p.Lines {
		s.line(l, p.rows)
	}
	for _, band := range p.Bands {
		s.head(band, p.Width)
		for _, b := range band.Boxes() {
			s.box(b)
		}
	}
	s.linef("</svg>")
	return s.err
}

// svg writes a picture as SVG.
type svg struct {
	printer
	Drawing
}

func escaped(text string) string { return html.EscapeString(sanitized(text)) }

// mark returns the mark of a workstream or gate; it has no sign if there are no statuses.
func (s *svg) mark(name string) Mark {
	if s.Mark == nil {
		return Mark{}
	}
	return s.Mark(name)
}

// text writes a text that takes at most some pixels.
func (s *svg) text(x, y, pixels int, class, text string) {
	s.linef(`<text x="%d" y="%d" class="%s">%s</text>`, x, y, class, html.EscapeString(fitted(text, pixels)))
}

// band draws the ground of a phase.
func (s *svg) band(b *Band, width int) {
	s.linef(`<rect class="band" x="%d" y="%d" width="%d" height="%d" rx="8"/>`, margin/2, b.Y, width-margin, b.Height)
}

// head writes the name of a phase, and its gates. It is written over lines that cross it.
func (s *svg) head(b *Band, width int) {
	head := b.Phase.label()
	if b.Phase.MaxParallel > 0 {
		head += fmt.Sprintf(", at most %d at once", b.Phase.MaxParallel)
	}
	s.text(margin+4, b.Y+24, width-2*margin, "head over", head)
	x := margin + 4
	for _, g := range b.Phase.Gates {
		s.gate(x, b.GatesY+18, labelWidth*2, g, b.Phase.Name)
		x += labelWidth*2 + boxGap
	}
}

// gate writes a gate of a workstream or phase. Without an owner it has no status.
func (s *svg) gate(x, y, pixels int, g Gate, owner string) {
	name, m := g.Name, Mark{}
	if g.Kind != string(pipeline.GateCommand) {
		name += " (" + g.Kind + ")"
	}
	if owner != "" {
		m = s.mark(g.Name + " (" + owner + ")")
	}
	title := said("gate "+name, m)
	if m.Sign == "" {
		m = Mark{Class: "soft", Sign: "◇"}
	}
	if s.Inside {
		s.signed(x, y, pixels, m, "", name)
		return
	}
	s.linef("<g><title>%s</title>", escaped(title))
	s.signed(x, y, pixels, m, "", name)
	s.linef("</g>")
}

// said returns a name and the status of what has it.
func said(name string, m Mark) string {
	if m.Text == "" {
		return name
	}
	return name + ": " + m.Text
}

// line draws a line through the gaps that it passes.
func (s *svg) line(l Line, rows []*row) {
	var path strings.Builder
	from, to := l.From.bottom(), Point{l.To.middle(), l.To.Y - 1}
	fmt.Fprintf(&path, "M%d %d", from.X, from.Y)
	leaves := rows[l.From.row]
	at := Point{from.X, leaves.y + leaves.height} // past the boxes beside it, which may be higher
	fmt.Fprintf(&path, "V%d", at.Y)
	curve := func(next Point) {
		half := (at.Y + next.Y) / 2
		fmt.Fprintf(&path, "C%d %d %d %d %d %d", at.X, half, next.X, half, next.X, next.Y)
		at = next
	}
	for i := 0; i+1 < len(l.Via); i += 2 {
		curve(l.Via[i])
		at = l.Via[i+1]
		fmt.Fprintf(&path, "V%d", at.Y)
	}
	curve(to)
	class := "line"
	if l.RunOn != "" {
		class += " after"
	}
	s.linef(`<path class="%s" d="%s" marker-end="url(#arrow)"><title>%s</title></path>`, class, path.String(), escaped(l.To.Name+" needs "+l.From.Name))
}

func (b *Box) bottom() Point { return Point{b.middle(), b.Y + b.Height} }

// box draws a box and what is in it, whose places are counted from its corner.
func (s *svg) box(b *Box) {
	first := b.Instances[0]
	m, link, name := s.mark(first.Name), s.linkOf(first.Name), b.Name
	if b.IsBlock() {
		m, link, name = s.blockMark(b), "", fmt.Sprintf("%s ×%d", b.Name, len(b.Instances))
	}
	if slices.ContainsFunc(b.Instances, func(w *Workstream) bool { return slices.Contains(s.Critical, w.Name) }) {
		name = criticalSign + name
	}
	end := "</g>"
	if link != "" {
		s.linef(`<a href="%s">`, html.EscapeString(link))
		end = "</g></a>"
	}
	title := "<title>" + escaped(b.said(m)) + "</title>"
	if s.Inside && !b.IsBlock() && b.fits() { // it says what the page says elsewhere
		title = ""
	}
	s.linef(`<g class="%s" transform="translate(%d %d)">%s`, strings.TrimSpace("box "+string(m.Class)), b.X, b.Y, title)
	s.linef(`<rect width="%d" height="%d" rx="6"/>`, b.Width, b.Height)
	y, room := padding+nameLine-8, b.Width-2*padding
	s.signed(padding, y, room, m, "head", name)
	for _, text := range []string{b.title(), b.notes()} {
		if text != "" {
			y += textLine
			s.text(padding, y, room*12/11, "soft", text)
		}
	}
	if b.IsBlock() {
		y = s.instances(b, y+textLine)
	}
	s.gates(b, y, room)
	s.linef("%s", end)
}

// said returns what a box is called, and its status.
func (b *Box) said(m Mark) string {
	text := nodeLabel(b.Name, b.title())
	if notes := b.notes(); notes != "" {
		text += " (" + notes + ")"
	}
	return said(text, m)
}

// signed writes a text behind the sign of a mark, if there is one.
func (s *svg) signed(x, y, pixels int, m Mark, class, text string) {
	sign := ""
	if m.Sign != "" {
		sign = fmt.Sprintf(`<tspan class="%s">%s</tspan> `, m.Class, html.EscapeString(m.Sign))
		pixels -= 2 * charWidth
	}
	if class != "" {
		class = fmt.Sprintf(` class="%s"`, class)
	}
	s.linef(`<text x="%d" y="%d"%s>%s%s</text>`, x, y, class, sign, html.EscapeString(fitted(text, pixels)))
}

// gates writes the gates of a workstream. Those of instances have verdicts of their own, which the
// instances show.
func (s *svg) gates(b *Box, y, room int) {
	for i, g := range b.gates() {
		y += textLine
		if i == maxGates-1 && len(b.gates()) > maxGates {
			s.text(padding, y, room, "soft", fmt.Sprintf("… and %d more gates", len(b.gates())-i))
			return
		}
		owner := ""
		if !b.IsBlock() {
			owner = b.Name
		}
		s.gate(padding, y, room, g, owner)
	}
}

// blockMark returns the mark of a block: that of the instance that needs attention most, with the counts of all.
func (s *svg) blockMark(b *Box) Mark {
	if s.Mark == nil {
		return Mark{}
	}
	var tally Tally
	for _, w := range b.Instances {
		tally.Add(s.Mark(w.Name))
	}
	return tally.Mark()
}

// instances draws the instances of a block from y on, and returns the y of the last line of text.
func (s *svg) instances(b *Box, y int) int {
	columns, rows, cell := b.grid()
	if len(b.Instances) > maxNamed {
		s.tiles(b, y-textLine/2, columns)
		return y - textLine + rows*cell.Y + padding/2
	}
	for i, w := range b.Instances {
		s.instance(b, w, Point{padding + i/rows*cell.X, y + i%rows*cell.Y}, cell.X)
	}
	return y + (rows-1)*cell.Y + padding/2
}

// instance writes the key of an instance.
func (s *svg) instance(b *Box, w *Workstream, at Point, room int) {
	m := s.mark(w.Name)
	end := "</g>"
	if link := s.linkOf(w.Name); link != "" {
		s.linef(`<a href="%s"><g>`, html.EscapeString(link))
		end = "</g></a>"
	} else {
		s.linef("<g>")
	}
	s.linef("<title>%s</title>", escaped(said(w.Name, m)))
	if m.Sign == "" {
		m = Mark{Class: "soft", Sign: "·"}
	}
	name := b.key(w)
	if slices.Contains(s.Critical, w.Name) {
		name = criticalSign + name
	}
	s.signed(at.X, at.Y, room, m, "", name)
	s.linef("%s", end)
}

// criticalSign stands before a workstream that decided how long the last run took.
const criticalSign = "◆ "

func (s *svg) linkOf(name string) string {
	if s.Link == nil {
		return ""
	}
	return s.Link(name)
}

// tiles draws an instance as a small figure, whose shape and colour are those of its class.
func (s *svg) tiles(b *Box, y, columns int) {
	figures := map[Class]*strings.Builder{}
	for i, w := range b.Instances {
		class := cmp.Or(s.mark(w.Name).Class, ClassPending)
		if figures[class] == nil {
			figures[class] = &strings.Builder{}
		}
		fmt.Fprintf(figures[class], "M%d %d%s", padding+i%columns*tile, y+i/columns*tile, figure(class))
	}
	for _, class := range slices.Sorted(maps.Keys(figures)) {
		s.linef(`<path class="%s" d="%s"/>`, class, figures[class].String())
	}
}

// figure returns the outline of a tile, seven pixels wide, from its upper left corner.
func figure(class Class) string {
	switch class {
	case ClassDone:
		return "h7v7h-7z"
	case ClassFailed: // a cross
		return "l2 0 1.5 2.5 1.5-2.5h2l-2.5 3.5 2.5 3.5h-2l-1.5-2.5-1.5 2.5h-2l2.5-3.5z"
	case ClassRunning: // a triangle
		return "l7 3.5-7 3.5z"
	case ClassWaiting: // two bars
		return "h2.5v7h-2.5zm4.5 0h2.5v7h-2.5z"
	case ClassAside: // a bar
		return "m0 3h7v1.5h-7z"
	case ClassPending:
	}
	return "m2 2h3v3h-3z" // a dot
}
