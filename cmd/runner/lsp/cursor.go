package lsp

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// cursor is a place in a document, and what stands around it. It follows from the tokens before the place, so that it is
// known in a text that can't be parsed yet.
type cursor struct {
	offset   int
	blocks   []string // the types of the blocks around it, from the outside
	labels   []string // the first label of each of these, "" if it has none
	argument string   // the argument in whose value it is, "" if it is in none
	inString bool     // within quotes, and not within ${ } in them
	call     string   // the function in whose arguments it is, "" if it is in none

	// What is being written: of service.db.po it is [service db], and po.
	path   []string
	prefix string
	start  int // the offset at which prefix begins
}

// block returns the type of the block in which the cursor is, "" at the top of the file.
func (c cursor) block() string {
	if len(c.blocks) == 0 {
		return ""
	}
	return c.blocks[len(c.blocks)-1]
}

// frame is a bracket that is open.
type frame struct {
	kind     hclsyntax.TokenType // of the opening token
	block    string              // the type of the block that a brace opens, "" if it opens an object
	label    string
	argument string   // the argument in whose value the bracket stands
	call     string   // the function whose arguments a parenthesis opens
	path     []string // what an index belongs to, with the last name
	in       int      // the block of the outline in which the bracket stands
}

// cursorAt looks at the tokens before an offset.
func cursorAt(of *source, offset int) cursor {
	s := newScanner(offset)
	for _, token := range of.tokens() {
		if token.Range.Start.Byte >= offset || token.Type == hclsyntax.TokenEOF {
			break
		}
		end := token.Range.End.Byte
		if end >= offset && (token.Type == hclsyntax.TokenIdent || token.Type == hclsyntax.TokenQuotedLit || token.Type == hclsyntax.TokenStringLit) {
			s.partial(of.text.source[token.Range.Start.Byte:offset], token)
			break
		}
		s.take(token)
	}
	return s.finish()
}

// scanner follows tokens, up to a cursor or to the end of a file.
type scanner struct {
	c        cursor
	open     []frame
	argument string   // of the line, behind =
	words    []string // of the line before = or {: the type of a block and its labels
	path     []string // names that dots join, up to the last dot
	name     string   // the last name
	nameAt   int      // the offset of the last name
	dotted   bool     // a dot was the last token

	outline outline // what was passed
	in      int     // the block of the outline in which the scanner is
}

// newScanner returns a scanner at the beginning of a file.
func newScanner(cursorOffset int) *scanner {
	return &scanner{c: cursor{offset: cursorOffset, start: cursorOffset}, outline: outline{{}}}
}

func (s *scanner) take(token hclsyntax.Token) {
	text := string(token.Bytes)
	switch token.Type {
	case hclsyntax.TokenIdent:
		if !s.dotted {
			s.path = nil
		}
		s.name, s.nameAt = text, token.Range.Start.Byte
		if s.inBody() && s.argument == "" {
			s.words = append(s.words, text)
		}
	case hclsyntax.TokenQuotedLit:
		if s.inBody() && s.argument == "" || s.quotedLabel() {
			s.words = append(s.words, text)
		}
		s.path, s.name = nil, ""
	case hclsyntax.TokenDot:
		s.path = append(s.path, s.name)
		s.name = ""
	case hclsyntax.TokenEqual:
		if s.inBody() && len(s.words) == 1 {
			s.argument = s.words[0]
			b := &s.outline[s.in]
			b.arguments = append(b.arguments, argument{name: s.argument, from: s.nameAt})
		}
		s.path, s.name = nil, ""
	case hclsyntax.TokenNewline:
		s.endLine(token.Range.Start.Byte)
		s.path, s.name = nil, ""
	case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		s.begin(token)
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
		s.end(token.Range.Start.Byte)
	case hclsyntax.TokenStringLit, hclsyntax.TokenComment:
		s.path, s.name = nil, ""
		if token.Type == hclsyntax.TokenComment && strings.HasSuffix(text, "\n") {
			s.endLine(token.Range.Start.Byte)
		}
	default:
		s.path, s.name = nil, ""
	}
	s.dotted = token.Type == hclsyntax.TokenDot
}

// inBody reports whether the scanner is in the body of a block or the file, outside of brackets within a value.
func (s *scanner) inBody() bool {
	return len(s.open) == 0 || s.open[len(s.open)-1].block != ""
}

// quotedLabel reports whether the scanner is within the quotes of a label.
func (s *scanner) quotedLabel() bool {
	n := len(s.open)
	return n > 0 && s.open[n-1].kind == hclsyntax.TokenOQuote && s.argument == "" && (n == 1 || s.open[n-2].block != "")
}

// endLine ends an argument with its line, unless a bracket is open.
func (s *scanner) endLine(offset int) {
	if s.inBody() {
		s.endArgument(offset)
	}
}

func (s *scanner) endArgument(offset int) {
	if s.argument != "" {
		given := s.outline[s.in].arguments
		given[len(given)-1].to = offset
	}
	s.argument, s.words = "", nil
}

func (s *scanner) begin(token hclsyntax.Token) {
	kind := token.Type
	f := frame{kind: kind, argument: s.argument, in: s.in}
	switch {
	case kind == hclsyntax.TokenOBrace && s.inBody() && s.argument == "" && len(s.words) > 0:
		f.block = s.words[0]
		if len(s.words) > 1 {
			f.label = s.words[1]
		}
		s.words = nil
		s.in = len(s.outline)
		s.outline = append(s.outline, block{kind: f.block, label: f.label, from: token.Range.Start.Byte})
	case kind == hclsyntax.TokenOParen:
		f.call = s.name
	case kind == hclsyntax.TokenOBrack && s.name != "":
		f.path = append(s.path, s.name)
	}
	s.open = append(s.open, f)
	s.path, s.name = nil, ""
}

func (s *scanner) end(offset int) {
	s.path, s.name = nil, ""
	n := len(s.open)
	if n == 0 {
		return
	}
	f := s.open[n-1]
	if f.block != "" {
		s.endArgument(offset)
		s.outline[s.in].to = offset
		s.in = f.in
	}
	s.open = s.open[:n-1]
	s.argument = f.argument
	if last := len(f.path) - 1; last >= 0 { // the index says which of several is meant: what can follow is the same
		s.path, s.name = f.path[:last], f.path[last]
	}
}

// partial takes the beginning of the token in which the cursor is.
func (s *scanner) partial(text string, token hclsyntax.Token) {
	s.c.start = token.Range.Start.Byte
	if token.Type == hclsyntax.TokenIdent {
		s.c.prefix = text
		if s.dotted {
			s.c.path = s.path
		}
		s.dotted = false
		s.path, s.name = s.c.path, ""
		return
	}
	s.c.prefix = text
	s.path, s.name = nil, ""
}

func (s *scanner) finish() cursor {
	c := s.c
	if s.dotted {
		c.path, c.start = s.path, c.offset
	}
	c.argument = s.argument
	for _, f := range s.open {
		if f.block != "" {
			c.blocks, c.labels = append(c.blocks, f.block), append(c.labels, f.label)
		}
		if f.kind == hclsyntax.TokenOParen {
			c.call = f.call
		}
	}
	if n := len(s.open); n > 0 {
		kind := s.open[n-1].kind
		c.inString = kind == hclsyntax.TokenOQuote || kind == hclsyntax.TokenOHeredoc
	}
	return c
}
