package lsp

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// manyLines is a pipeline of ten thousand lines.
func manyLines() string {
	var b strings.Builder
	b.WriteString("variable \"region\" {}\npipeline \"PRD-001\" {\n")
	for p := range 25 {
		fmt.Fprintf(&b, "  phase \"p%d\" {\n", p)
		for w := range 50 {
			fmt.Fprintf(&b, "    workstream \"w%d-%d\" {\n      title   = \"Part %d of ${var.region}\"\n      command = [\"make\", \"part\", \"%d\"]\n      inputs  = [\"src/%d/**\"]\n      env = {\n        A = upper(\"x\")\n      }\n    }\n", p, w, w, w, w)
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// BenchmarkAnswers measures how long an editor waits for an answer about a file of ten thousand lines that was just edited.
func BenchmarkAnswers(b *testing.B) {
	e := newEditor(b, nil)
	defer e.end() //nolint:errcheck // the tests check the end
	content := manyLines()
	if lines := strings.Count(content, "\n"); lines < 10_000 {
		b.Fatalf("there are only %d lines", lines)
	}
	e.open("PRD-001.hcl", content)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case <-e.told:
			case <-ended:
				return
			}
		}
	}()
	at := positionParams{TextDocument: textDocument{e.uri("PRD-001.hcl")}, Position: newText(content).position(strings.Index(content, "var.region") + len("var."))}
	for _, method := range []string{"completion", "hover", "definition", "references", "documentSymbol", "formatting"} {
		b.Run(method, func(b *testing.B) {
			for b.Loop() {
				e.edit("PRD-001.hcl", position{0, 0}, position{0, 0}, " ")
				var answer any
				if err := e.conn.Call(context.Background(), "textDocument/"+method, at, &answer); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
