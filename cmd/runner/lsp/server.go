package lsp

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
)

// server answers requests one after the other. Meanwhile it reads on, and looks for mistakes.
type server struct {
	env *cli.Environment

	mu        sync.Mutex
	documents map[string]*document // the open ones, by URI
	shutDown  bool
	broken    error // what the editor sent that is no message
	snippets  bool  // the editor takes completions with places to fill in
	watches   bool  // the editor can say when files change

	manual func() *manual // made at first use
	begun  chan struct{}  // closed by begin: before that, no request is answered
	newest chan struct{}  // closed when the request that was read last is answered; only who reads uses it
	exited chan struct{}  // closed by exit
	exit   func()         // the editor asks the server to end, perhaps more than once
	checks *checks
	all    sync.WaitGroup
}

// document is an open file. Its content is never changed: an edit makes another document.
type document struct {
	uri     string
	version int
	saved   bool // the file has this content
	*source
}

func newServer(env *cli.Environment) *server {
	begun, exited := make(chan struct{}), make(chan struct{})
	return &server{
		env: env, documents: map[string]*document{}, manual: sync.OnceValue(newManual),
		begun: begun, newest: begun, exited: exited, exit: sync.OnceFunc(func() { close(exited) }),
	}
}

// begin starts to look for mistakes, which it sends to the editor.
func (s *server) begin(ctx context.Context, conn *jsonrpc2.Conn) {
	s.checks = newChecks(s, conn)
	s.all.Go(func() { s.checks.run(ctx) })
	close(s.begun)
}

func (s *server) wait() { s.all.Wait() }

// Handle implements jsonrpc2.Handler. The request is answered after the one before, but not waited for: an editor that reads no
// answer before it has sent what it has to say must be able to send it.
func (s *server) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	before, answered := s.newest, make(chan struct{})
	s.newest = answered
	go func() {
		defer close(answered)
		<-before
		jsonrpc2.HandlerWithError(s.handle).Handle(ctx, conn, req)
	}()
}

// handle answers a request.
func (s *server) handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	switch req.Method {
	case "initialize":
		return answer(req, s.initialize)
	case "initialized":
		s.watchFiles(ctx, conn)
		return nil, nil
	case "workspace/didChangeWatchedFiles":
		s.checkAll()
		return nil, nil
	case "shutdown":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.shutDown = true
		return nil, nil
	case "exit":
		s.exit()
		return nil, nil
	case "textDocument/didOpen":
		return answer(req, s.didOpen)
	case "textDocument/didChange":
		return answer(req, s.didChange)
	case "textDocument/didSave":
		return answer(req, s.didSave)
	case "textDocument/didClose":
		return answer(req, s.didClose)
	case "textDocument/completion":
		return about(s, req, s.complete)
	case "textDocument/hover":
		return about(s, req, s.hover)
	case "textDocument/definition":
		return about(s, req, s.definition)
	case "textDocument/references":
		return about(s, req, s.references)
	case "textDocument/documentHighlight":
		return about(s, req, s.highlights)
	case "textDocument/prepareRename":
		return about(s, req, s.prepareRename)
	case "textDocument/rename":
		return about(s, req, s.rename)
	case "textDocument/formatting":
		return about(s, req, s.format)
	case "textDocument/documentSymbol":
		return about(s, req, s.symbols)
	case "textDocument/codeAction":
		return answer(req, s.codeActions)
	}
	if req.Notif || strings.HasPrefix(req.Method, "$/") {
		return nil, nil // what a server does not know it may pass over
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "not supported: " + req.Method}
}

// answer answers a request by its parameters.
func answer[P, R any](req *jsonrpc2.Request, with func(P) (R, error)) (any, error) {
	var params P
	if req.Params != nil {
		if err := json.Unmarshal(*req.Params, &params); err != nil {
			return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
		}
	}
	return with(params)
}

// about answers a request about a place in an open document.
func about[R any](s *server, req *jsonrpc2.Request, with func(d *document, p positionParams) (R, error)) (any, error) {
	return answer(req, func(p positionParams) (any, error) {
		d := s.document(p.TextDocument.URI)
		if d == nil {
			return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: "the document is not open: " + p.TextDocument.URI}
		}
		return with(d, p)
	})
}

func (s *server) document(uri string) *document {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.documents[uri]
}

// isCurrent reports whether a document is open and still has a content.
func (s *server) isCurrent(uri string, content *source) bool {
	d := s.document(uri)
	return d != nil && d.source == content
}

// documentAt returns the open document of a file, nil if it is not open.
func (s *server) documentAt(path string) *document {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.documents {
		if d.path == path {
			return d
		}
	}
	return nil
}

func (s *server) initialize(p initializeParams) (initializeResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snippets = p.Capabilities.TextDocument.Completion.CompletionItem.SnippetSupport
	s.watches = p.Capabilities.Workspace.DidChangeWatchedFiles.DynamicRegistration
	var r initializeResult
	r.ServerInfo.Name, r.ServerInfo.Version = "runner", s.env.Version
	r.Capabilities = capabilities{
		PositionEncoding: "utf-16", TextDocumentSync: syncOptions{OpenClose: true, Change: 2, Save: true},
		CompletionProvider: completionOptions{TriggerCharacters: []string{".", "\"", "/"}},
		HoverProvider:      true, DefinitionProvider: true, ReferencesProvider: true, DocumentHighlightProvider: true,
		RenameProvider: renameOptions{PrepareProvider: true}, DocumentFormattingProvider: true, DocumentSymbolProvider: true,
		CodeActionProvider: codeActionOptions{CodeActionKinds: []string{"quickfix"}},
	}
	return r, nil
}

// watchFiles asks the editor to say when a pipeline or the configuration changes on disk: another program may do that, such as
// git.
func (s *server) watchFiles(ctx context.Context, conn *jsonrpc2.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.watches {
		return
	}
	var p registrationParams
	r := registration{ID: "files", Method: "workspace/didChangeWatchedFiles"}
	for _, pattern := range []string{"**/*" + config.PipelineExtension, "**/runner{" + strings.Join(config.Extensions(), ",") + "}"} {
		r.RegisterOptions.Watchers = append(r.RegisterOptions.Watchers, fileWatcher{pattern})
	}
	p.Registrations = append(p.Registrations, r)
	s.all.Go(func() { _ = conn.Call(ctx, "client/registerCapability", p, nil) }) // without it, mistakes follow the next edit
}

// checkAll looks for the mistakes of all open documents anew.
func (s *server) checkAll() {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.documents))
	s.mu.Unlock()
	for _, uri := range all {
		s.checks.ask(uri)
	}
}

// keep makes a document the one that is open.
func (s *server) keep(uri string, version int, content *text, saved bool) {
	d := &document{uri, version, saved, newSource(pathOf(uri), content)}
	go d.tokens() // while the request that follows parses it: most answers need both
	s.put(d)
}

func (s *server) put(d *document) {
	s.mu.Lock()
	s.documents[d.uri] = d
	s.mu.Unlock()
	s.checks.ask(d.uri)
}

func (s *server) didOpen(p didOpenParams) (any, error) {
	s.keep(p.TextDocument.URI, p.TextDocument.Version, newText(p.TextDocument.Text), true)
	return nil, nil
}

func (s *server) didChange(p didChangeParams) (any, error) {
	d := s.document(p.TextDocument.URI)
	if d == nil {
		return nil, nil
	}
	content := d.text
	for _, c := range p.ContentChanges {
		if c.Range == nil {
			content = newText(c.Text)
		} else {
			content = content.replaced(*c.Range, c.Text)
		}
	}
	s.keep(d.uri, p.TextDocument.Version, content, false)
	return nil, nil
}

func (s *server) didSave(p documentParams) (any, error) {
	if d := s.document(p.TextDocument.URI); d != nil {
		s.put(&document{d.uri, d.version, true, d.source})
	}
	return nil, nil
}

func (s *server) didClose(p documentParams) (any, error) {
	affected := s.affected(map[string]bool{p.TextDocument.URI: true})
	s.mu.Lock()
	delete(s.documents, p.TextDocument.URI)
	s.mu.Unlock()
	s.checks.forget(p.TextDocument.URI)
	for _, d := range affected {
		s.checks.ask(d.uri) // for the others, the file counts again
	}
	return nil, nil
}
