package page

import (
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/pipeline/graph"
	"prdrunner/runner/view"
)

// Server writes the pages of `runner serve`. NewServer returns one.
type Server struct {
	CommandLine advice.CommandLine
	Version     string
	ReadOnly    bool // no page has a form that changes something

	templates *template.Template
}

// NewServer returns a writer of pages.
func NewServer(cmdline advice.CommandLine, version string, readOnly bool) (*Server, error) {
	t, err := template.ParseFS(files, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("parse the templates: %w", err)
	}
	return &Server{cmdline, version, readOnly, t}, nil
}

// Static returns the files that the pages refer to, by their path below /static/.
func Static(name string) (data []byte, contentType string, ok bool) {
	switch name {
	case "graph.css":
		return []byte(graph.Style), "text/css; charset=utf-8", true
	case "page.css":
		contentType = "text/css; charset=utf-8"
	case "page.js", "report.js":
		contentType = "text/javascript; charset=utf-8"
	default:
		return nil, "", false
	}
	data, err := fs.ReadFile(files, "static/"+name)
	return data, contentType, err == nil
}

// PathOf returns the path of the page of a PRD, or of something below it.
func PathOf(prd string, below ...string) string {
	path := "/prd/" + url.PathEscape(prd)
	for _, part := range below {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// frame is what every page needs.
type frame struct {
	Heading  string
	ReadOnly bool
	Version  string
	PRD      string        // "": the page is about no single one
	Live     string        // where the page finds out what has changed; "": it does not change
	Shape    string        // see Shape
	Said     template.HTML // what the command printed that a form of the page before has run
	Body     any
}

func (s *Server) write(w io.Writer, name string, f frame) error {
	f.Version, f.ReadOnly = s.Version, s.ReadOnly
	return execute(w, s.templates, name, f)
}

// Home writes the list of all PRDs: those with a session, and those with only a pipeline.
func (s *Server) Home(w io.Writer, list []info.SessionStatus, unbegun []string) error {
	rows := homeRows(list, unbegun)
	return s.write(w, "home.html", frame{Heading: "Runner", Live: "/events", Shape: shapeOf(homeParts(rows)), Body: rows})
}

func homeRows(list []info.SessionStatus, unbegun []string) []homeRow {
	var rows []homeRow
	for _, st := range list {
		r := homeRow{PRD: st.PRD, Path: PathOf(st.PRD), Title: st.Title, Mark: graph.Mark{Class: info.ClassOf(st.Style()), Text: st.StatusText()}, Phase: st.PhaseReached(), Done: st.Counts.String()}
		switch {
		case st.Damaged != "":
			r = homeRow{PRD: st.PRD, Path: PathOf(st.PRD), Title: string(st.Damaged), Mark: graph.Mark{Class: graph.ClassFailed, Text: "damaged"}}
		case st.Title == st.PRD:
			r.Title = "" // it says no more than the PRD
		}
		if !st.UpdatedAt.IsZero() {
			r.Updated = st.UpdatedAt.UTC().Format(time.DateTime)
		}
		rows = append(rows, r)
	}
	for _, prd := range unbegun {
		rows = append(rows, homeRow{PRD: prd, Path: PathOf(prd, "plan"), Mark: graph.Mark{Class: graph.ClassPending, Text: "not begun"}})
	}
	for i := range rows {
		rows[i].ID = "prd-" + template.URLQueryEscaper(rows[i].PRD)
	}
	return rows
}

type homeRow struct {
	ID, PRD, Path, Title, Phase, Done, Updated string
	Mark                                       graph.Mark
}

// Session writes the page of a session. secret goes into its forms, and said is what the last form led to.
func (s *Server) Session(w io.Writer, o *info.Overview, secret, said string) error {
	shown, err := s.session(o, secret)
	if err != nil {
		return err
	}
	return s.write(w, "served.html", frame{
		Heading: shown.Heading, PRD: o.Status.PRD, Live: PathOf(o.Status.PRD, "events"), Shape: shapeOf(shown.parts()), Said: Painted(said), Body: shown,
	})
}

// headingOf returns the heading of a page. prd is "" if the page is about no single one.
func headingOf(prd, title string) string {
	if prd == "" {
		return title
	}
	return view.Named(prd, title)
}

// session returns what the templates need of a session, with links and forms.
func (s *Server) session(o *info.Overview, secret string) (*session, error) {
	shown, err := newSession(s.CommandLine, o)
	if err != nil {
		return nil, err
	}
	prd := o.Status.PRD
	for i := range shown.Phases {
		for k := range shown.Phases[i].Groups {
			rows := shown.Phases[i].Groups[k].Rows
			for n := range rows {
				rows[n].Link = PathOf(prd, "step", rows[n].Name)
			}
		}
	}
	for i := range shown.Checkpoints {
		shown.Checkpoints[i].Link = PathOf(prd, "checkpoint", shown.Checkpoints[i].ID)
	}
	for i, f := range o.Failures {
		if shown.Failures[i].Name != "" {
			shown.Failures[i].Link = PathOf(prd, "step", view.FailedStep(f.Failure))
		}
	}
	if len(shown.Failures) > 0 && o.Status.Owner == nil {
		shown.WaysBack = waysBack(prd, o.Checkpoints.Checkpoints)
	}
	for i, q := range o.Status.Waiting {
		if q.Judged != nil && q.Judged.Files.Checkpoint != "" {
			shown.Waiting[i].Link = PathOf(prd, "checkpoint", q.Judged.Files.Checkpoint, "diff")
		}
	}
	for i, h := range shown.History {
		if !h.Current && h.Session != noSession {
			shown.History[i].Link = PathOf(prd, "diff") + "?" + url.Values{"from": {h.Session}}.Encode()
		}
	}
	if o.Status.Owner == nil {
		shown.Plan = PathOf(prd, "plan")
	}
	if s.ReadOnly {
		return shown, nil
	}
	if o.Status.Owner != nil && o.Status.Requested == nil {
		shown.Pause = &Form{Action: PathOf(prd, "pause"), Secret: secret, Button: "Pause", Text: "Reason"}
	}
	for i, q := range o.Status.Waiting {
		shown.Waiting[i].Form = newAnswer(PathOf(prd, "answer"), secret, q)
	}
	return shown, nil
}

// waysBack returns the beginning of a session and the ends of its phases, the newest first.
func waysBack(prd string, checkpoints []info.ListedCheckpoint) (all []wayBack) {
	const most = 4
	for _, c := range slices.Backward(checkpoints) {
		text := "before the first phase"
		if c.Trigger == state.TriggerPhaseTransition {
			text = "after phase " + c.Phase
		} else if c.Trigger != state.TriggerStart {
			continue
		}
		if c.InvalidatedBy == "" && c.Damage == nil && len(all) < most {
			all = append(all, wayBack{
				Text:       text + ", " + c.CreatedAt.UTC().Format(time.DateTime),
				Difference: PathOf(prd, "checkpoint", c.ID, "diff"), Rollback: PathOf(prd, "checkpoint", c.ID, "rollback"),
			})
		}
	}
	return all
}

// Login writes the page that asks for the token, and leads to a path afterwards.
func (s *Server) Login(w io.Writer, to string, refused bool) error {
	return s.write(w, "login.html", frame{Heading: "Runner", Body: struct {
		To      string
		Refused bool
	}{to, refused}})
}

// Enter writes the page that leads from an address with the token to the same one without it. The browser goes on by
// itself: after a redirection it would hold back the cookie, since another site may have led there.
func (s *Server) Enter(w io.Writer, path string) error {
	return s.write(w, "enter.html", frame{Heading: "Runner", Body: path})
}
