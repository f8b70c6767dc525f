package page

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"prdrunner/cmd/runner/info"
)

// Part is an element of an open page that is replaced when it has changed.
type Part struct{ ID, HTML string }

// Shape returns a digest of which parts there are, in their order. A page of another shape can't take them: it lacks some, or
// has some that are gone.
func Shape(parts []Part) string {
	ids := make([]string, len(parts))
	for i, p := range parts {
		ids[i] = p.ID
	}
	return digestOf(ids)
}

func digestOf(ids []string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(ids, "\n"))))
}

// unwritten is a part before a template has written it.
type unwritten struct {
	template, id string
	data         any
}

// problem is the part that says why a page does not change any more. It is the first one of each page.
func problem(text string) unwritten { return unwritten{"problem", "problem", text} }

func shapeOf(parts []unwritten) string {
	ids := make([]string, len(parts))
	for i, p := range parts {
		ids[i] = p.id
	}
	return digestOf(ids)
}

// HomeParts returns the parts of the list of all PRDs.
func (s *Server) HomeParts(list []info.SessionStatus, unbegun []string) ([]Part, error) {
	return s.written(homeParts(homeRows(list, unbegun)))
}

func homeParts(rows []homeRow) []unwritten {
	parts := []unwritten{problem("")}
	for _, row := range rows {
		parts = append(parts, unwritten{"prd", row.ID, row})
	}
	return parts
}

// Parts returns the parts of the page of a session. secret goes into its forms.
func (s *Server) Parts(o *info.Overview, secret string) ([]Part, error) {
	shown, err := s.session(o, secret)
	if err != nil {
		return nil, err
	}
	return s.written(shown.parts())
}

// parts returns the parts of the page of a session, in their order.
func (s *session) parts() []unwritten {
	parts := []unwritten{problem("")}
	add := func(names ...string) {
		for _, name := range names {
			parts = append(parts, unwritten{name, name, s})
		}
	}
	add("result", "nav", "about", "pause", "waiting", "failures", "span")
	for _, p := range s.Phases {
		parts = append(parts, unwritten{"phase", p.ID, p})
		for _, g := range p.Groups {
			if g.Folded {
				parts = append(parts, unwritten{"group", g.ID, g})
			}
			for _, r := range g.Rows {
				parts = append(parts, unwritten{"row", r.ID, r})
			}
		}
	}
	add("graph", "gates", "metrics", "outputs", "checkpoints", "history")
	return parts
}

func (s *Server) written(parts []unwritten) ([]Part, error) {
	all := make([]Part, len(parts))
	for i, p := range parts {
		var b strings.Builder
		if err := execute(&b, s.templates, p.template, p.data); err != nil {
			return nil, err
		}
		all[i] = Part{p.id, b.String()}
	}
	return all, nil
}

// WithProblem returns the parts of a page that says why it does not change any more.
func (s *Server) WithProblem(parts []Part, text string) ([]Part, error) {
	first, err := s.written([]unwritten{problem(text)})
	if err != nil || len(parts) == 0 {
		return first, err
	}
	return append(first, parts[1:]...), nil
}
