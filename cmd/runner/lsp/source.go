package lsp

import (
	"path/filepath"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"prdrunner/pipeline"
)

// source is the content of a file, and what follows from it, which is found out when it is asked for.
type source struct {
	path    string // of the file
	text    *text
	tokens  func() hclsyntax.Tokens
	outline func() outline
	file    func() *pipeline.File // what could be understood
	names   func() []name         // the places that name declarations, in source order
}

func newSource(path string, content *text) *source {
	s := &source{path: path, text: content}
	s.tokens = sync.OnceValue(func() hclsyntax.Tokens {
		tokens, _ := hclsyntax.LexConfig([]byte(content.source), "", hcl.InitialPos) // also of what can't be parsed
		return tokens
	})
	s.outline = sync.OnceValue(func() outline { return outlineOf(content.source, s.tokens()) })
	s.file = sync.OnceValue(func() *pipeline.File {
		f, _ := pipeline.Parse([]byte(content.source), filepath.Base(path)) // what is wrong with it, the checks find
		return f
	})
	s.names = sync.OnceValue(func() []name { return namesIn(s.file()) })
	return s
}
