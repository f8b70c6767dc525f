package lsp

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty/function"

	"prdrunner/pipeline"
)

// hover says what the word at a place means. A result of nil: nothing is known of it.
func (s *server) hover(d *document, p positionParams) (*hover, error) {
	if n, ok := nameAt(d, p.Position); ok {
		said, err := s.describeName(d, n)
		return &hover{markdown(said), d.text.hclRange(n.place)}, err
	}
	if token, ok := wordAt(d.source, d.text.offset(p.Position)); ok {
		if said := s.describeWord(d, token); said != "" {
			return &hover{markdown(said), d.text.hclRange(token.Range)}, nil
		}
	}
	return nil, nil
}

func markdown(text string) markup { return markup{"markdown", text} }

// wordAt returns the identifier at an offset.
func wordAt(of *source, offset int) (hclsyntax.Token, bool) {
	for _, token := range of.tokens() {
		if token.Type == hclsyntax.TokenIdent && token.Range.Start.Byte <= offset && offset <= token.Range.End.Byte {
			return token, true
		}
	}
	return hclsyntax.Token{}, false
}

// describeWord says what a word means that names no declaration: an argument, a block, a function, or the root of a reference.
func (s *server) describeWord(d *document, token hclsyntax.Token) string {
	word := string(token.Bytes)
	c := cursorAt(d.source, token.Range.Start.Byte)
	m := s.manual()
	switch f, isFunction := pipeline.Functions()[word]; {
	case c.argument == "" && !c.inString:
		return titled(word, m.about(c.block(), word))
	case isFunction && strings.HasPrefix(strings.TrimLeft(d.text.source[token.Range.End.Byte:], " "), "("):
		return describeFunction(word, f)
	case len(c.path) > 0:
		return titled(c.path[0]+"."+word, m.references[c.path[0]])
	}
	return titled(word, m.references[word])
}

func titled(title, text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return "**" + title + "**\n\n" + text
}

func describeFunction(name string, f function.Function) string {
	return "```hcl\n" + signature(name, f) + "\n```\n\n" + f.Description()
}

// signature returns how a function is called.
func signature(name string, f function.Function) string {
	var params []string
	for _, p := range f.Params() {
		params = append(params, p.Name)
	}
	if v := f.VarParam(); v != nil {
		params = append(params, v.Name+"...")
	}
	return fmt.Sprintf("%s(%s)", name, strings.Join(params, ", "))
}

// mostShown is how many lines of a declaration are shown.
const mostShown = 12

// describeName shows where what a name stands for is declared, and how.
func (s *server) describeName(d *document, n name) (string, error) {
	all, err := s.places(d, n)
	for _, p := range all {
		if !p.declares {
			continue
		}
		lines := strings.Split(declaration(p), "\n")
		if len(lines) > mostShown {
			lines = append(lines[:mostShown], "…")
		}
		kind := n.kind
		if kind == ownGate {
			kind = "gate"
		}
		return fmt.Sprintf("**%s %s** (line %d)\n\n```hcl\n%s\n```", kind, n.name, p.text.position(p.place.Start.Byte).Line+1, strings.Join(lines, "\n")), err
	}
	return "", err
}

// declaration returns the text of a declaration, given the place of its name.
func declaration(p place) string {
	for _, symbol := range p.file().Symbols() {
		if r := symbol.NameRange; r.Start.Byte <= p.place.Start.Byte && p.place.Start.Byte < r.End.Byte {
			indent := p.text.position(symbol.Range.Start.Byte).Character
			text := p.text.source[symbol.Range.Start.Byte:symbol.Range.End.Byte]
			return strings.ReplaceAll(text, "\n"+strings.Repeat(" ", indent), "\n")
		}
	}
	return ""
}
