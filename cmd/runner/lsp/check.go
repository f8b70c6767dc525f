package lsp

import (
	"context"
	"regexp"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/sourcegraph/jsonrpc2"

	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/words"
	"prdrunner/pipeline/diagnostics"
)

// checks looks for the mistakes of documents, when their author pauses.
type checks struct {
	server *server
	conn   *jsonrpc2.Conn
	wake   chan struct{} // has an element if something is to be checked

	mu    sync.Mutex      // also held while the editor is told of mistakes, so that it is told in order
	due   map[string]bool // the documents that have changed, by URI
	fixes map[string]fixes
}

// fixes are what mends the mistakes that the editor was told last of a document.
type fixes struct {
	of      *source
	actions []codeAction
}

func newChecks(s *server, conn *jsonrpc2.Conn) *checks {
	return &checks{server: s, conn: conn, wake: make(chan struct{}, 1), due: map[string]bool{}, fixes: map[string]fixes{}}
}

// pauseOfAuthor is how long documents must stay as they are before they are checked.
const pauseOfAuthor = 150 * time.Millisecond

// ask notes that a document has changed. After a pause, run checks it, and those that share declarations with it.
func (c *checks) ask(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due[uri] = true
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// forget takes back what the editor was told about a document.
func (c *checks) forget(uri string) {
	c.mu.Lock()
	delete(c.due, uri)
	defer c.mu.Unlock()
	delete(c.fixes, uri)
	_ = c.conn.Notify(context.Background(), "textDocument/publishDiagnostics", publishDiagnosticsParams{URI: uri, Diagnostics: []diagnostic{}})
}

// run checks documents until ctx is done.
func (c *checks) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		if !c.pause(ctx) {
			return
		}
		c.mu.Lock()
		due := c.due
		c.due = map[string]bool{}
		c.mu.Unlock()
		for _, d := range c.server.affected(due) {
			c.check(ctx, d)
		}
	}
}

// pause waits until no document has changed for a while. It returns false if ctx is done first.
func (c *checks) pause(ctx context.Context) bool {
	calm := time.NewTimer(pauseOfAuthor)
	defer calm.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-c.wake:
			calm.Reset(pauseOfAuthor)
		case <-calm.C:
			return true
		}
	}
}

// check finds the mistakes of a document, and tells the editor, unless the document was edited or closed meanwhile.
func (c *checks) check(ctx context.Context, d *document) {
	told, mending := []diagnostic{}, fixes{of: d.source}
	for _, diag := range c.server.mistakes(d) {
		shown := shownDiagnostic(d, diag)
		told = append(told, shown)
		if fix, ok := fixOf(d, diag, shown); ok {
			mending.actions = append(mending.actions, fix)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.server.isCurrent(d.uri, d.source) {
		return
	}
	c.fixes[d.uri] = mending
	_ = c.conn.Notify(ctx, "textDocument/publishDiagnostics", publishDiagnosticsParams{URI: d.uri, Version: d.version, Diagnostics: told})
}

// mistakes returns the mistakes that `runner validate` reports in a document, as it is in the editor. For a document that is
// saved they include globs that match no file, which takes longer. A file that is neither a pipeline nor included by one has no
// mistakes: it may be one of another program.
func (s *server) mistakes(d *document) (all hcl.Diagnostics) {
	w, err := s.workspaceOf(d)
	if err != nil {
		return d.file().Diagnostics() // the commands say what is wrong with the configuration
	}
	seen, unsaved := map[string]bool{}, w.unsaved()
	for _, p := range w.pipelinesWith(d) {
		read, err := load.ReadPipeline(w.env, w.cfg, load.PipelineRef{File: p.path, AllowUnset: true, WarnUnmatched: d.saved, Unsaved: unsaved})
		if err != nil {
			continue
		}
		for _, diag := range read.Diagnostics {
			about := read.File
			if diag.Subject != nil {
				about = diag.Subject.Filename
			}
			key := diag.Error()
			if w.env.Path(about) == d.path && !seen[key] {
				all, seen[key] = append(all, diag), true
			}
		}
	}
	return all
}

func shownDiagnostic(d *document, diag *hcl.Diagnostic) diagnostic {
	shown := diagnostic{Severity: 1, Code: diagnostics.Code(diag.Summary), Source: "runner", Message: diag.Summary}
	if diag.Detail != "" {
		shown.Message += "\n" + diag.Detail
	}
	if diag.Severity == hcl.DiagWarning {
		shown.Severity = 2
	}
	if diag.Subject != nil {
		shown.Range = d.text.hclRange(*diag.Subject)
	}
	return shown
}

// fixOf returns the edit that a diagnostic proposes. Its detail names what was probably meant; that replaces the word that is
// most like it.
func fixOf(d *document, diag *hcl.Diagnostic, shown diagnostic) (codeAction, bool) {
	found := regexp.MustCompile(`Did you mean "([^"]+)"`).FindStringSubmatch(diag.Detail)
	if found == nil || diag.Subject == nil {
		return codeAction{}, false
	}
	meant, source := found[1], d.text.source
	at, end := min(diag.Subject.Start.Byte, len(source)), min(diag.Subject.End.Byte, len(source))
	places := map[string][]int{} // of the words that are there
	var given []string
	for _, place := range regexp.MustCompile(`[\pL_][\pL\pN_-]*`).FindAllStringIndex(source[at:end], -1) {
		if word := source[at+place[0] : at+place[1]]; word != meant {
			places[word], given = place, append(given, word)
		}
	}
	word := words.Nearest(meant, given)
	if word == "" {
		return codeAction{}, false
	}
	edit := textEdit{d.text.span(at+places[word][0], at+places[word][1]), meant}
	return codeAction{
		Title: "Write " + meant + " instead of " + word, Kind: "quickfix", Diagnostics: []diagnostic{shown}, IsPreferred: true,
		Edit: workspaceEdit{map[string][]textEdit{d.uri: {edit}}},
	}, true
}

// codeActions returns what mends the mistakes of a part of a document.
func (s *server) codeActions(p codeActionParams) ([]codeAction, error) {
	c := s.checks
	c.mu.Lock()
	defer c.mu.Unlock()
	actions, known := []codeAction{}, c.fixes[p.TextDocument.URI]
	if !s.isCurrent(p.TextDocument.URI, known.of) { // the places were others before the last edit
		return actions, nil
	}
	for _, fix := range known.actions {
		if r := fix.Diagnostics[0].Range; !before(r.End, p.Range.Start) && !before(p.Range.End, r.Start) {
			actions = append(actions, fix)
		}
	}
	return actions, nil
}

func before(a, b position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Character < b.Character
}
