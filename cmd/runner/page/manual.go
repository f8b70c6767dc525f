package page

import (
	"bytes"
	"html/template"
	"io"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"prdrunner/cmd/runner/docs"
)

// Manual writes the list of the pages of the manual.
func (s *Server) Manual(w io.Writer) error {
	return s.write(w, "topics.html", frame{Heading: "Manual", Body: docs.Groups()})
}

// ManualPage writes a page of the manual, whose text is Markdown.
func (s *Server) ManualPage(w io.Writer, markdown string) error {
	convert := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(manualLinks{}, 0))),
	)
	var b bytes.Buffer
	if err := convert.Convert([]byte(markdown), &b); err != nil {
		return err
	}
	title, _, _ := strings.Cut(strings.TrimPrefix(markdown, "# "), "\n")
	return s.write(w, "manual.html", frame{Heading: title, Body: template.HTML(b.String())}) //nolint:gosec // the text is a part of this program, and goldmark lets no HTML through
}

// manualLinks makes links of commands such as `runner help tutorial`, and texts of links to files of the repository, which
// the server does not have.
type manualLinks struct{}

// Transform implements parser.ASTTransformer.
func (manualLinks) Transform(document *ast.Document, reader text.Reader, _ parser.Context) {
	var topics, files []ast.Node
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.CodeSpan:
			if entering && topicOf(n, reader.Source()) != "" {
				topics = append(topics, n)
			}
		case *ast.Link:
			if to := string(n.Destination); entering && !strings.Contains(to, "://") && !strings.HasPrefix(to, "#") {
				files = append(files, n)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, n := range topics {
		link := ast.NewLink()
		link.Destination = []byte(ManualPath(topicOf(n, reader.Source())))
		n.Parent().ReplaceChild(n.Parent(), n, link)
		link.AppendChild(link, n)
	}
	for _, n := range files {
		parent := n.Parent()
		for child := n.FirstChild(); child != nil; child = n.FirstChild() {
			parent.InsertBefore(parent, n, child)
		}
		parent.RemoveChild(parent, n)
	}
}

// topicOf returns the page of the manual that a command in the text shows, "" if it shows none.
func topicOf(n ast.Node, source []byte) string {
	var b strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if t, ok := child.(*ast.Text); ok {
			b.Write(t.Segment.Value(source))
		}
	}
	topic, found := strings.CutPrefix(b.String(), "runner help ")
	if !found {
		return ""
	}
	if topic == "topics" {
		return topic
	}
	if _, ok := docs.Find(topic); !ok {
		return ""
	}
	return topic
}

// ManualPath returns the path of a page of the manual, or of the list of all.
func ManualPath(topic string) string {
	if topic == "topics" {
		return "/manual"
	}
	return "/manual/" + topic
}
