package page

import (
	"html/template"
	"io"
)

// Printed is what a command printed, and what can be done next.
type Printed struct {
	PRD, Title string
	Command    string // as the user would type it
	Text       string // with the colours of the command
	Log        string // of a step, shown below that, with the colours of the command
	LogLines   string // how many lines of it are shown at most
	LogCommand string // prints all of it
	Failed     bool   // then there are no forms
	Forms      []Form
	Links      []Link
	Follow     string // where the log and what is added to it come from; "": no run is on that could add to it
	Said       string // what the command printed that a form of the page before has run
}

// printed is the body of a page that shows what a command printed.
type printed struct {
	Printed
	Painted, PaintedLog template.HTML // Text and Log, as the page shows them
}

// Link is a link to another page.
type Link struct{ Path, Text string }

// Form is a form with one button, and perhaps a field for a text.
type Form struct {
	Action, Secret, Button string
	Hidden                 map[string]string
	Text                   string // the label of the field; "": there is none
}

// Printed writes a page that shows what a command printed.
func (s *Server) Printed(w io.Writer, p Printed) error {
	if s.ReadOnly || p.Failed {
		p.Forms = nil
	}
	return s.write(w, "printed.html", frame{Heading: headingOf(p.PRD, p.Title), PRD: p.PRD, Said: Painted(p.Said), Body: printed{p, Painted(p.Text), Painted(p.Log)}})
}
