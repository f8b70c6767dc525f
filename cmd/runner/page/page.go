// Package page writes HTML about sessions: the files of `runner render` and `runner graph`, and the pages of
// `runner serve`.
//
// Templates, styles, scripts and the values that templates take belong here. The data come
// from package info. Nothing here opens a file or a session. Every text goes through
// html/template, which escapes it. Where to begin:
//
//   - Report writes a session as a file, and Graph a graph;
//   - session.go brings an info.Overview into the order of the page;
//   - timeline.go measures the bars of the timeline.
package page

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/pipeline/graph"
	"prdrunner/runner/sink"
	"prdrunner/runner/view"
)

//go:embed templates static
var files embed.FS

// Report writes an overview as an HTML file that needs no other.
func Report(w io.Writer, cmdline advice.CommandLine, o *info.Overview, version string) error {
	s, err := newSession(cmdline, o)
	if err != nil {
		return err
	}
	f, err := newFile(version)
	if err != nil {
		return err
	}
	return write(w, "report.html", struct {
		*session
		file
	}{s, f})
}

// Graph writes a graph as an HTML file that needs no other. marks are the statuses of its workstreams and
// gates; nil: it has none.
func Graph(w io.Writer, g *graph.Graph, marks map[string]graph.Mark, version string) error {
	f, err := newFile(version)
	if err != nil {
		return err
	}
	d := graph.Drawing{Inside: true}
	var legend []graph.Mark
	if marks != nil {
		d.Mark = func(name string) graph.Mark { return marks[name] }
		legend = info.Legend()
	}
	picture, err := draw(g, d)
	if err != nil {
		return err
	}
	return write(w, "graph.html", struct {
		Heading string
		Legend  []graph.Mark
		Picture template.HTML
		file
	}{view.Named(g.PRD, g.Title), legend, picture, f})
}

// draw returns the picture of a graph.
func draw(g *graph.Graph, d graph.Drawing) (template.HTML, error) {
	var b strings.Builder
	err := g.Layout().WriteSVG(&b, d)
	return template.HTML(b.String()), err //nolint:gosec // WriteSVG escapes every text
}

// file is what a file needs that stands for itself.
type file struct {
	Version string
	Style   template.CSS
	Script  template.JS
}

func newFile(version string) (file, error) {
	style, err := files.ReadFile("static/page.css")
	if err != nil {
		return file{}, err
	}
	script, err := files.ReadFile("static/report.js")
	return file{version, template.CSS(string(style) + graph.Style), template.JS(script)}, err //nolint:gosec // both are files of this program
}

// write writes a file with a template.
func write(w io.Writer, name string, data any) error {
	t, err := template.ParseFS(files, "templates/*.html")
	if err != nil {
		return fmt.Errorf("parse the templates: %w", err)
	}
	if _, err := io.WriteString(w, sink.PageOpening); err != nil {
		return err
	}
	return execute(w, t, name, data)
}

// execute writes what a template gives. Control characters, which HTML does not allow, are made visible.
func execute(w io.Writer, t *template.Template, name string, data any) error {
	clean := view.NewRevealer(w)
	return errors.Join(t.ExecuteTemplate(clean, name, data), clean.Close())
}
