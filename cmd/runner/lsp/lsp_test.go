package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"
	"go.uber.org/goleak"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/show"
	"prdrunner/pipeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// editor is the other end of a connection to a server.
type editor struct {
	t       testing.TB
	dir     string
	conn    *jsonrpc2.Conn
	told    chan publishDiagnosticsParams
	watched chan string // the files that the server asks about
	end     func() error
}

// newEditor starts a server for a directory with some files.
func newEditor(t testing.TB, files map[string]string) *editor {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	toServer, fromEditor := io.Pipe()
	toEditor, fromServer := io.Pipe()
	env := cli.ThisProcess()
	env.Args, env.Environ, env.Workdir = nil, nil, dir
	env.Stdin, env.Stdout = toServer, show.NewScreen(fromServer)
	ended := make(chan error, 1)
	go func() { ended <- serve(context.Background(), env) }()
	e := &editor{t: t, dir: dir, told: make(chan publishDiagnosticsParams, 100), watched: make(chan string, 1)}
	stream := jsonrpc2.NewBufferedStream(pipes{toEditor, fromEditor}, jsonrpc2.VSCodeObjectCodec{})
	e.conn = jsonrpc2.NewConn(context.Background(), stream, jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
		if req.Method == "client/registerCapability" {
			e.watched <- string(*req.Params)
			return nil, nil
		}
		var p publishDiagnosticsParams
		if err := json.Unmarshal(*req.Params, &p); err == nil && req.Method == "textDocument/publishDiagnostics" {
			e.told <- p
		}
		return nil, nil
	}))
	e.end = func() error {
		_ = e.conn.Call(context.Background(), "shutdown", nil, nil)
		_ = e.conn.Notify(context.Background(), "exit", nil)
		_ = e.conn.Notify(context.Background(), "exit", nil) // some editors say it twice
		err := <-ended
		_ = toServer.Close()
		_ = fromServer.Close()
		_ = e.conn.Close()
		return err
	}
	var params initializeParams
	params.Capabilities.TextDocument.Completion.CompletionItem.SnippetSupport = true
	params.Capabilities.Workspace.DidChangeWatchedFiles.DynamicRegistration = true
	var result initializeResult
	e.call("initialize", params, &result)
	if !result.Capabilities.HoverProvider || result.ServerInfo.Name != "runner" {
		t.Fatalf("the server says of itself %+v", result)
	}
	if err := e.conn.Notify(context.Background(), "initialized", struct{}{}); err != nil {
		t.Fatal(err)
	}
	if asked := <-e.watched; !strings.Contains(asked, "**/*.hcl") {
		t.Fatalf("the server asks for %s", asked)
	}
	return e
}

type pipes struct {
	io.ReadCloser
	io.WriteCloser
}

// Close implements io.Closer.
func (p pipes) Close() error {
	_ = p.WriteCloser.Close()
	return p.ReadCloser.Close()
}

func (e *editor) call(method string, params, result any) {
	e.t.Helper()
	if err := e.conn.Call(context.Background(), method, params, result); err != nil {
		e.t.Fatalf("%s: %v", method, err)
	}
}

func (e *editor) uri(name string) string { return uriOf(filepath.Join(e.dir, name)) }

// open opens a document, and returns its mistakes.
func (e *editor) open(name, content string) []diagnostic {
	e.t.Helper()
	var p didOpenParams
	p.TextDocument.URI, p.TextDocument.Version, p.TextDocument.Text = e.uri(name), 1, content
	if err := e.conn.Notify(context.Background(), "textDocument/didOpen", p); err != nil {
		e.t.Fatal(err)
	}
	return e.mistakes(name)
}

// edit replaces a part of an open document.
func (e *editor) edit(name string, from, to position, by string) {
	e.t.Helper()
	var change didChangeParams
	change.TextDocument.URI, change.TextDocument.Version = e.uri(name), 2
	change.ContentChanges = append(change.ContentChanges, struct {
		Range *textRange `json:"range"`
		Text  string     `json:"text"`
	}{&textRange{from, to}, by})
	if err := e.conn.Notify(context.Background(), "textDocument/didChange", change); err != nil {
		e.t.Fatal(err)
	}
}

// mistakes waits until the server tells the mistakes of a document.
func (e *editor) mistakes(name string) []diagnostic {
	e.t.Helper()
	for {
		select {
		case p := <-e.told:
			if p.URI == e.uri(name) {
				return p.Diagnostics
			}
		case <-time.After(time.Minute):
			e.t.Fatalf("nothing is told of %s", name)
		}
	}
}

// at returns the parameters of a request about the mark ‸ in a text, and the text without it.
func (e *editor) at(name, marked string) (p positionParams, content string) {
	e.t.Helper()
	before, after, found := strings.Cut(marked, "‸")
	if !found {
		e.t.Fatal("the text has no mark")
	}
	p.TextDocument.URI = e.uri(name)
	p.Position = newText(before).position(len(before))
	return p, before + after
}

const surrounding = `variable "region" {}
locals { tag = "a" }
agent "writer" { command = ["x"] }
gate "lint" { command = ["x"] }
pipeline "PRD-001" {
  service "db" { command = ["x"] }
  secret "key" { env = "K" }
  savepoint "orders" {
    driver = "sqlite"
    url    = "x"
  }
  phase "one" {
    workstream "alpha" {
      command = ["x"]
    }
    workstream "beta" {
      depends_on = [workstream.alpha]
      script     = "x"
      LINE
    }
  }
}
`

// TestCompletion: what can be written at a place is offered, and what can't is not.
func TestCompletion(t *testing.T) {
	t.Parallel()
	e := newEditor(t, map[string]string{"src/main.go": "", "src/lib/x": "", "docs.md": ""})
	defer func() {
		if err := e.end(); err != nil {
			t.Error(err)
		}
	}()
	whole := func(line string) string { return strings.Replace(surrounding, "LINE", line, 1) }
	for name, test := range map[string]struct {
		text   string
		want   []string // are offered
		others []string // are not
		only   bool     // nothing else is
	}{
		"an argument":            {whole("ti‸"), []string{"timeout", "title", "gate", "retry"}, []string{"script", "depends_on", "phase", "max_parallel"}, false},
		"the top of a file":      {"‸", []string{"include", "variable", "locals", "gate", "agent", "pipeline"}, []string{"phase"}, true},
		"a pipeline":             {"pipeline \"PRD-001\" {\n  ‸\n}\n", []string{"title", "phase", "hook", "secret"}, []string{"workstream", "command"}, false},
		"an approval":            {"pipeline \"PRD-001\" {\n phase \"p\" {\n gate \"g\" {\n approval {\n ‸\n}\n}\n}\n}\n", []string{"message", "approvers", "timeout", "input"}, nil, true},
		"an expression":          {whole("env = { A = v‸ }"), []string{"var", "local", "workstream", "upper", "true"}, []string{"timeout"}, false},
		"a variable":             {whole("env = { A = var.‸ }"), []string{"region"}, nil, true},
		"in a template":          {whole(`env = { A = "x-${local.t‸" }`), []string{"tag"}, nil, true},
		"a workstream":           {whole("when = workstream.‸"), []string{"alpha", "beta"}, nil, true},
		"a result":               {whole("when = workstream.alpha.‸"), []string{"artifacts", "outputs", "status"}, nil, true},
		"a result of one":        {whole(`when = workstream.alpha["k"].‸`), []string{"artifacts", "outputs", "status"}, nil, true},
		"a shared gate":          {whole("gates = [gate.‸]"), []string{"lint"}, nil, true},
		"an agent":               {whole("agent = agent.‸"), []string{"writer"}, nil, true},
		"a service":              {whole("services = [service.‸]"), []string{"db"}, nil, true},
		"a port":                 {whole("env = { P = service.db.‸ }"), []string{"port"}, nil, true},
		"a secret":               {whole("env = { K = secret.‸ }"), []string{"key"}, nil, true},
		"a savepoint":            {whole("protect {\n savepoints = [savepoint.‸]\n}"), []string{"orders"}, nil, true},
		"each":                   {whole("env = { K = each.‸ }"), []string{"key", "value"}, nil, true},
		"an effect":              {whole(`effect = "‸"`), []string{"idempotent", "once", "pure"}, nil, true},
		"an effect, begun":       {whole(`effect = "on‸`), []string{"idempotent", "once", "pure"}, nil, true},
		"a file":                 {whole(`inputs = ["‸"]`), []string{"src", "docs.md"}, nil, true},
		"a file below":           {whole(`inputs = ["docs.md", "src/‸"]`), []string{"lib", "main.go"}, nil, true},
		"a file of a function":   {whole(`env = { A = file("src/m‸") }`), []string{"lib", "main.go"}, nil, true},
		"a text":                 {whole(`title = "‸"`), nil, nil, true},
		"a label":                {"pipeline \"‸\" {\n}\n", nil, nil, true},
		"behind a comment":       {whole("title = \"x\" # why\n ti‸"), []string{"timeout"}, []string{"title"}, false},
		"behind what is no text": {whole("env = { A = \ntitle = [\nretry { \ndepends_on = [workstream.‸"), []string{"alpha", "beta"}, nil, true},
		"what a block has":       {"pipeline \"PRD-001\" {\n  phase \"p\" {\n title = \"{\"\n ‸}\n}\n", []string{"max_parallel"}, []string{"title"}, false},
		"what is being written":  {whole("tit‸le = \"x\""), []string{"title"}, nil, false},
		"behind an open bracket": {whole("inputs = [\n \"a\",\n ‸"), []string{"var", "fileset"}, []string{"timeout"}, false},
	} {
		p, content := e.at(strings.ReplaceAll(name, " ", "-")+".hcl", test.text)
		e.keepQuietly(p.TextDocument.URI, content)
		var list completionList
		e.call("textDocument/completion", p, &list)
		var got []string
		for _, item := range list.Items {
			got = append(got, item.Label)
		}
		for _, want := range test.want {
			if !slices.Contains(got, want) {
				t.Errorf("%s: %s is not offered: %q", name, want, got)
			}
		}
		for _, other := range test.others {
			if slices.Contains(got, other) {
				t.Errorf("%s: %s is offered", name, other)
			}
		}
		if test.only && len(got) != len(test.want) {
			t.Errorf("%s: offered are %q, want only %q", name, got, test.want)
		}
	}
}

// keepQuietly opens a document whose mistakes the test does not wait for.
func (e *editor) keepQuietly(uri, content string) {
	var p didOpenParams
	p.TextDocument.URI, p.TextDocument.Text = uri, content
	if err := e.conn.Notify(context.Background(), "textDocument/didOpen", p); err != nil {
		e.t.Fatal(err)
	}
}

// TestCompletionEdits: what is accepted replaces what was typed of it, and the labels of a block are filled in.
func TestCompletionEdits(t *testing.T) {
	t.Parallel()
	e := newEditor(t, nil)
	defer e.end() //nolint:errcheck // others check the end
	for _, test := range []struct{ text, label, want string }{
		{"pipeline \"PRD-001\" {\n  ti‸\n}\n", "title", "pipeline \"PRD-001\" {\n  title = \n}\n"},
		{"pipeline \"PRD-001\" {\n  pha‸\n}\n", "phase", "pipeline \"PRD-001\" {\n  phase \"${1:name}\" {\n  $0\n}\n}\n"},
		{"variable \"ü😀\" {}\nlocals { a = \"😀${var.‸\" }\n", "ü😀", "variable \"ü😀\" {}\nlocals { a = \"😀${var.ü😀\" }\n"},
		{"pipeline \"PRD-001\" {\n  savepoint \"s\" { driver = \"sq‸\" }\n}\n", "sqlite", "pipeline \"PRD-001\" {\n  savepoint \"s\" { driver = \"sqlite\" }\n}\n"},
	} {
		p, content := e.at("PRD-001.hcl", test.text)
		e.keepQuietly(p.TextDocument.URI, content)
		var list completionList
		e.call("textDocument/completion", p, &list)
		i := slices.IndexFunc(list.Items, func(item completionItem) bool { return item.Label == test.label })
		if i < 0 {
			t.Errorf("%q does not offer %s: %+v", test.text, test.label, list.Items)
			continue
		}
		edit := list.Items[i].TextEdit
		if got := newText(content).replaced(edit.Range, edit.NewText).source; got != test.want {
			t.Errorf("%q becomes %q, want %q", test.text, got, test.want)
		}
	}
}

// TestEverythingIsDescribed: the manual says what each argument and each block of the language is for.
func TestEverythingIsDescribed(t *testing.T) {
	t.Parallel()
	m := newManual()
	blocks := []string{""}
	for i := 0; i < len(blocks); i++ {
		body, _ := pipeline.BodyOf(blocks[i])
		for _, argument := range body.Arguments {
			if m.about(blocks[i], argument) == "" {
				t.Errorf("nothing is said of %s in %q", argument, blocks[i])
			}
		}
		for _, nested := range body.Blocks {
			if m.about(blocks[i], nested.Type) == "" {
				t.Errorf("nothing is said of the block %s in %q", nested.Type, blocks[i])
			}
			if !slices.Contains(blocks, nested.Type) {
				blocks = append(blocks, nested.Type)
			}
		}
	}
	for _, root := range []string{"var", "local", "each", "pipeline", "workstream", "gate", "metric", "issue", "service", "secret", "run", "iteration"} {
		if m.references[root] == "" {
			t.Errorf("nothing is said of %s", root)
		}
	}
}

// TestHover: a word is described by what it is where it stands.
func TestHover(t *testing.T) {
	t.Parallel()
	e := newEditor(t, nil)
	defer e.end() //nolint:errcheck // others check the end
	whole := func(line string) string { return strings.Replace(surrounding, "LINE", line, 1) }
	for text, want := range map[string]string{
		whole("ef‸fect = \"once\""):             "what running it again would do",
		whole("env = { A = up‸per(\"x\") }"):    "upper(str)",
		whole("when = work‸stream.alpha"):       "workstream.X.outputs.NAME",
		whole("when = workstream.al‸pha"):       "workstream \"alpha\" {\n  command = [\"x\"]\n}",
		whole("} # \n workstream \"ga‸mma\" {"): "workstream \"gamma\" {",
		whole("env = { A = local.t‸ag }"):       "tag = \"a\"",
		whole("env = { A = each.k‸ey }"):        "the element of `for_each`",
		whole("ret‸ry {\n}"):                    "what to do after a failed attempt",
		whole("gate \"g\" {\n mi‸n = 1\n}"):     "the smallest and the largest value",
		"pipe‸line \"PRD-001\" {\n}\n":          "exactly one pipeline block",
		"pipeline \"PRD-001\" {\n ho‸ok {}\n}":  "after something has happened",
		whole("title = \"no wor‸d\""):           "",
	} {
		p, content := e.at("PRD-001.hcl", text)
		e.keepQuietly(p.TextDocument.URI, content)
		var got *hover
		e.call("textDocument/hover", p, &got)
		switch {
		case want == "" && got != nil:
			t.Errorf("%q is described: %s", text, got.Contents.Value)
		case want != "" && (got == nil || !strings.Contains(got.Contents.Value, want)):
			t.Errorf("%q is described as %+v, want %q", text, got, want)
		}
	}
}

// TestMistakes: an editor is told the mistakes that validate reports, where they are, and again when they change.
func TestMistakes(t *testing.T) {
	t.Parallel()
	e := newEditor(t, map[string]string{
		"common/gates.hcl": "gate \"vet\" { command = [\"x\"] }\n",
		"PRD-002.hcl":      "include = [\"common/*.hcl\"]\npipeline \"PRD-002\" {\n  phase \"p\" {\n    workstream \"w\" {\n      command = [\"x\"]\n      gates   = [gate.vet]\n    }\n  }\n}\n",
	})
	defer func() {
		if err := e.end(); err != nil {
			t.Error(err)
		}
	}()
	got := e.open("PRD-001.hcl", "pipeline \"PRD-001\" {\n  phase \"p\" {\n    workstream \"w\" {\n command = [\"x\"]\n titel = \"x\"\n}\n  }\n}\n")
	if len(got) != 1 || got[0].Code != "unsupported-argument" || got[0].Range != (textRange{position{4, 1}, position{4, 6}}) || !strings.Contains(got[0].Message, `Did you mean "title"?`) {
		t.Errorf("told %+v", got)
	}
	e.edit("PRD-001.hcl", position{4, 1}, position{4, 6}, "title")
	if got := e.mistakes("PRD-001.hcl"); len(got) != 0 {
		t.Errorf("told %+v of a file without mistakes", got)
	}
	// What an editor has not saved counts for the other files.
	if got := e.open("common/gates.hcl", "gate \"vet\" { command = [\"x\", var.none] }\n"); len(got) != 1 || got[0].Code != "unknown-variable" {
		t.Errorf("told %+v of an included file", got)
	}
	if got := e.open("PRD-002.hcl", string(must(os.ReadFile(filepath.Join(e.dir, "PRD-002.hcl"))))); len(got) != 0 {
		t.Errorf("told %+v of a file that includes one with a mistake", got)
	}
	// An edit of a file that is included counts for the pipelines that include it.
	e.edit("common/gates.hcl", position{0, 5}, position{0, 10}, `"vat"`)
	if got := e.mistakes("PRD-002.hcl"); len(got) != 1 || !strings.Contains(got[0].Message, `Did you mean "vat"?`) {
		t.Errorf("told %+v of a file that includes one without its gate", got)
	}
	// Files of other programs are none of ours.
	if got := e.open("main.hcl", "variable \"x\" {\n  nonsense = 1\n}\n"); len(got) != 0 {
		t.Errorf("told %+v of a file that no pipeline includes", got)
	}
	if err := e.conn.Notify(context.Background(), "textDocument/didClose", documentParams{textDocument{e.uri("common/gates.hcl")}}); err != nil {
		t.Fatal(err)
	}
	if got := e.mistakes("common/gates.hcl"); len(got) != 0 {
		t.Errorf("told %+v of a file that is closed", got)
	}
	if got := e.mistakes("PRD-002.hcl"); len(got) != 0 {
		t.Errorf("told %+v of a file that includes one whose edit is given up", got)
	}
	// So does an edit by another program, which the editor says.
	if err := os.WriteFile(filepath.Join(e.dir, "common/gates.hcl"), []byte("gate \"vat\" { command = [\"x\"] }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := e.conn.Notify(context.Background(), "workspace/didChangeWatchedFiles", map[string]any{"changes": []any{}}); err != nil {
		t.Fatal(err)
	}
	if got := e.mistakes("PRD-002.hcl"); len(got) != 1 {
		t.Errorf("told %+v of a file that includes one that has changed", got)
	}
}

// TestOldAnswers: once a document is edited, what mended its mistakes is not offered any more, and a document that is closed
// is not spoken of again.
func TestOldAnswers(t *testing.T) {
	t.Parallel()
	e := newEditor(t, nil)
	defer e.end() //nolint:errcheck // others check the end
	const mistaken = "pipeline \"PRD-001\" {\n  titel = \"x\"\n  phase \"p\" {\n    workstream \"w\" { command = [\"x\"] }\n  }\n}\n"
	if got := e.open("PRD-001.hcl", mistaken); len(got) != 1 {
		t.Fatalf("told %+v", got)
	}
	ask := codeActionParams{textDocument{e.uri("PRD-001.hcl")}, textRange{position{0, 0}, position{9, 0}}}
	var actions []codeAction
	if e.call("textDocument/codeAction", ask, &actions); len(actions) != 1 {
		t.Errorf("offered are %+v", actions)
	}
	e.edit("PRD-001.hcl", position{0, 0}, position{0, 0}, "# a comment\n")
	if e.call("textDocument/codeAction", ask, &actions); len(actions) != 0 {
		t.Errorf("offered are %+v, at places of an earlier content", actions)
	}
	if err := e.conn.Notify(context.Background(), "textDocument/didClose", documentParams{textDocument{e.uri("PRD-001.hcl")}}); err != nil {
		t.Fatal(err)
	}
	if got := e.mistakes("PRD-001.hcl"); len(got) != 0 {
		t.Errorf("told %+v of a file that is closed", got)
	}
	var next didOpenParams
	next.TextDocument.URI, next.TextDocument.Text = e.uri("PRD-002.hcl"), strings.Replace(mistaken, "001", "002", 1)
	if err := e.conn.Notify(context.Background(), "textDocument/didOpen", next); err != nil {
		t.Fatal(err)
	}
	if p := <-e.told; p.URI != e.uri("PRD-002.hcl") || len(p.Diagnostics) != 1 {
		t.Errorf("told %+v after a file was closed and another one opened", p)
	}
}

// TestPause: while the author types, no mistakes are told; after a pause, those of the last content are.
func TestPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newEditor(t, nil)
		e.open("PRD-001.hcl", "")
		for range 10 {
			e.edit("PRD-001.hcl", position{0, 0}, position{0, 0}, "}")
			time.Sleep(pauseOfAuthor / 2)
			synctest.Wait()
		}
		if told := len(e.told); told != 0 {
			t.Errorf("told %d times of mistakes while the author typed", told)
		}
		edited := time.Now()
		e.edit("PRD-001.hcl", position{0, 0}, position{0, 10}, "# nothing")
		if got := e.mistakes("PRD-001.hcl"); len(got) != 1 || !strings.Contains(got[0].Message, "pipeline") {
			t.Errorf("told %+v", got)
		}
		if waited := time.Since(edited); waited != pauseOfAuthor {
			t.Errorf("told after %v", waited)
		}
		if err := e.end(); err != nil {
			t.Error(err)
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestEveryFix applies what mends each misspelled name in the invalid pipelines of package pipeline: the mistake is gone then.
func TestEveryFix(t *testing.T) {
	t.Parallel()
	const dir = "../../../pipeline/testdata/invalid"
	entries := must(os.ReadDir(dir))
	fixed := 0
	for _, entry := range entries {
		source, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil || filepath.Ext(entry.Name()) != ".hcl" {
			continue
		}
		d := &document{"file:///PRD-001.hcl", 1, false, newSource("/PRD-001.hcl", newText(string(source)))}
		in := pipeline.Inputs{Workspace: "../../../pipeline/testdata/workspace", Open: true}
		_, diags := d.file().Pipeline(in)
		for _, diag := range diags {
			if !strings.Contains(diag.Detail, `Did you mean "`) || filepath.Base(diag.Subject.Filename) != "PRD-001.hcl" {
				continue
			}
			fix, ok := fixOf(d, diag, shownDiagnostic(d, diag))
			if elsewhere := diag.Summary == "Value for undeclared variable" || diag.Summary == "Unknown workstream instance"; elsewhere {
				continue // its place is the value, or an expression that gives the key
			}
			if !ok {
				t.Errorf("%s: nothing mends %v", entry.Name(), diag)
				continue
			}
			fixed++
			edit := fix.Edit.Changes[d.uri][0]
			mended, _ := pipeline.Parse([]byte(d.text.replaced(edit.Range, edit.NewText).source), "PRD-001.hcl")
			_, after := mended.Pipeline(in)
			for _, other := range after {
				if other.Summary == diag.Summary && other.Detail == diag.Detail {
					t.Errorf("%s: %q does not mend %v", entry.Name(), fix.Title, diag)
				}
			}
		}
	}
	if fixed < 15 {
		t.Errorf("only %d mistakes are mended", fixed)
	}
}

// TestRename: a name changes wherever it stands for the same declaration, in all files that share it, and nowhere else.
func TestRename(t *testing.T) {
	t.Parallel()
	const shared = "gate \"vet\" { command = [var.race] }\nvariable \"race\" {}\n"
	const main = "include = [\"common/*.hcl\"]\npipeline \"PRD-001\" {\n  phase \"p\" {\n    workstream \"vet\" {\n      command = [\"vet\", var.race]\n      gates   = [gate.vet]\n      gate \"own\" { command = [\"x\"] }\n    }\n    workstream \"b\" {\n      depends_on = [workstream.vet]\n      command    = [\"x\"]\n      gate \"own\" { command = [\"x\"] }\n    }\n  }\n}\n"
	for name, test := range map[string]struct {
		file, marked string
		newName      string
		want         map[string]string // the files that change
		refused      string
	}{
		"a workstream": {"PRD-001.hcl", strings.Replace(main, `workstream "vet"`, `workstream "v‸et"`, 1), "check", map[string]string{
			"PRD-001.hcl": strings.NewReplacer(`workstream "vet"`, `workstream "check"`, "workstream.vet", "workstream.check").Replace(main),
		}, ""},
		"a gate that is shared": {"PRD-001.hcl", strings.Replace(main, "gate.vet", "gate.ve‸t", 1), "check", map[string]string{
			"PRD-001.hcl": strings.Replace(main, "gate.vet", "gate.check", 1), "common/x.hcl": strings.Replace(shared, `"vet"`, `"check"`, 1),
		}, ""},
		"a variable, from the included file": {"common/x.hcl", strings.Replace(shared, `"race"`, `"ra‸ce"`, 1), "fast", map[string]string{
			"PRD-001.hcl": strings.Replace(main, "var.race", "var.fast", 1), "common/x.hcl": strings.ReplaceAll(shared, "race", "fast"),
		}, ""},
		"one of two gates of one name": {"PRD-001.hcl", strings.Replace(main, `"own"`, `"ow‸n"`, 1), "mine", map[string]string{
			"PRD-001.hcl": strings.Replace(main, `"own"`, `"mine"`, 1),
		}, ""},
		"no name":         {"PRD-001.hcl", strings.Replace(main, "command", "com‸mand", 1), "x", nil, "no name that could be changed"},
		"the id":          {"PRD-001.hcl", strings.Replace(main, "PRD-001", "PRD‸-001", 1), "PRD-002", nil, "rename the file"},
		"to what is none": {"PRD-001.hcl", strings.Replace(main, `workstream "b"`, `workstream "‸b"`, 1), "1 x", nil, "can't be a name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEditor(t, map[string]string{"common/x.hcl": shared, "PRD-001.hcl": main})
			defer e.end() //nolint:errcheck // others check the end
			p, content := e.at(test.file, test.marked)
			p.NewName = test.newName
			e.keepQuietly(p.TextDocument.URI, content)
			var edit workspaceEdit
			err := e.conn.Call(context.Background(), "textDocument/rename", p, &edit)
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) {
					t.Errorf("the error is %v, want %q", err, test.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for uri, edits := range edit.Changes {
				path := pathOf(uri)
				text := newText(string(must(os.ReadFile(path))))
				slices.SortFunc(edits, func(a, b textEdit) int { return text.offset(b.Range.Start) - text.offset(a.Range.Start) })
				for _, one := range edits {
					text = text.replaced(one.Range, one.NewText)
				}
				rel, _ := filepath.Rel(e.dir, path)
				got[filepath.ToSlash(rel)] = text.source
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNavigation: a name leads to its declaration and to its uses, and a text to the file that it names.
func TestNavigation(t *testing.T) {
	t.Parallel()
	const shared = "gate \"vet\" { command = [\"x\"] }\n"
	const main = "include = [\"common/x.hcl\"]\npipeline \"PRD-001\" {\n  phase \"p\" {\n    workstream \"a\" {\n      command = [\"x\"]\n      gates   = [gate.vet]\n    }\n    workstream \"b\" {\n      depends_on = [workstream.a]\n      command    = [\"x\"]\n    }\n  }\n}\n"
	e := newEditor(t, map[string]string{"common/x.hcl": shared, "PRD-001.hcl": main})
	defer e.end() //nolint:errcheck // others check the end
	ask := func(method, marked string) (lines []string) {
		p, content := e.at("PRD-001.hcl", marked)
		p.Context.IncludeDeclaration = true
		e.keepQuietly(p.TextDocument.URI, content)
		var found []location
		e.call(method, p, &found)
		for _, l := range found {
			lines = append(lines, filepath.Base(pathOf(l.URI))+":"+string(rune('0'+l.Range.Start.Line+1)))
		}
		return lines
	}
	for _, test := range []struct {
		method, marked string
		want           []string
	}{
		{"textDocument/definition", strings.Replace(main, "workstream.a", "workstream.‸a", 1), []string{"PRD-001.hcl:4"}},
		{"textDocument/definition", strings.Replace(main, "gate.vet", "gate.v‸et", 1), []string{"x.hcl:1"}},
		{"textDocument/definition", strings.Replace(main, "common/x", "comm‸on/x", 1), []string{"x.hcl:1"}},
		{"textDocument/definition", strings.Replace(main, "command", "c‸ommand", 1), nil},
		{"textDocument/references", strings.Replace(main, `workstream "a"`, `workstream "a‸"`, 1), []string{"PRD-001.hcl:4", "PRD-001.hcl:9"}},
	} {
		if diff := cmp.Diff(test.want, ask(test.method, test.marked)); diff != "" {
			t.Errorf("%s: %s", test.method, diff)
		}
	}
	var symbols []documentSymbol
	e.call("textDocument/documentSymbol", documentParams{textDocument{e.uri("PRD-001.hcl")}}, &symbols)
	if len(symbols) != 1 || symbols[0].Name != "PRD-001" || len(symbols[0].Children) != 1 || len(symbols[0].Children[0].Children) != 2 {
		t.Errorf("the symbols are %+v", symbols)
	}
	var edits []textEdit
	e.keepQuietly(e.uri("PRD-003.hcl"), "locals {\n a=1\n}\n")
	e.call("textDocument/formatting", documentParams{textDocument{e.uri("PRD-003.hcl")}}, &edits)
	if len(edits) != 1 || edits[0].NewText != "locals {\n  a = 1\n}\n" {
		t.Errorf("formatting gives %+v", edits)
	}
}

// TestBadEnd: the error says what the editor did, if it sends what is no message or goes away.
func TestBadEnd(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"":                                 "without a farewell",
		"garbage\r\n\r\n":                  "no message of the Language Server Protocol",
		"Content-Length: 7\r\n\r\ngarbage": "no message of the Language Server Protocol",
		"Content-Length: 100\r\n\r\n{":     "without a farewell",
	} {
		env := cli.ThisProcess()
		env.Args, env.Environ, env.Workdir = nil, nil, t.TempDir()
		env.Stdin, env.Stdout = strings.NewReader(sent), show.NewScreen(io.Discard)
		if err := serve(context.Background(), env); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("after %q the error is %v, want %q", sent, err, want)
		}
	}
}

// TestManyRequests: an editor may send all that it has to say, and end its input, before it reads an answer.
func TestManyRequests(t *testing.T) {
	t.Parallel()
	const count = 1000
	toServer, fromEditor := io.Pipe()
	toEditor, fromServer := io.Pipe()
	env := cli.ThisProcess()
	env.Args, env.Environ, env.Workdir = nil, nil, t.TempDir()
	env.Stdin, env.Stdout = toServer, show.NewScreen(fromServer)
	ended, written := make(chan error, 1), make(chan struct{})
	go func() {
		ended <- serve(context.Background(), env)
		_ = fromServer.Close()
	}()
	go func() {
		defer close(written)
		for i := range count {
			message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"shutdown"}`, i)
			_, _ = fmt.Fprintf(fromEditor, "Content-Length: %d\r\n\r\n%s", len(message), message)
		}
		_ = fromEditor.Close()
	}()
	select {
	case <-written:
	case <-time.After(time.Minute):
		t.Fatal("the server reads no more")
	}
	from := bufio.NewReader(toEditor)
	for i := range count {
		var answer struct{ ID int }
		if err := (jsonrpc2.VSCodeObjectCodec{}).ReadObject(from, &answer); err != nil || answer.ID != i {
			t.Fatalf("answer %d is to %d: %v", i, answer.ID, err)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestUnknownRequests: what the server does not know it refuses, or passes over, and goes on.
func TestUnknownRequests(t *testing.T) {
	t.Parallel()
	e := newEditor(t, nil)
	if err := e.conn.Call(context.Background(), "textDocument/unknown", nil, nil); err == nil {
		t.Error("an unknown request is answered")
	}
	if err := e.conn.Notify(context.Background(), "textDocument/unknown", nil); err != nil {
		t.Error(err)
	}
	if err := e.conn.Call(context.Background(), "textDocument/hover", positionParams{TextDocument: textDocument{"file:///nowhere.hcl"}}, nil); err == nil {
		t.Error("a request about a document that is not open is answered")
	}
	if err := e.conn.Call(context.Background(), "textDocument/hover", []int{1}, nil); err == nil {
		t.Error("a request with other parameters is answered")
	}
	if err := e.end(); err != nil {
		t.Error(err)
	}
}
