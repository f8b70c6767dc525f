package lsp

import "github.com/hashicorp/hcl/v2/hclsyntax"

// outline is the blocks of a file in the order in which they begin. The first one is the file itself. An outline follows from
// the tokens alone: that takes less time than parsing, and a text that can't be parsed has one, too.
type outline []block

// block is a block of a file.
type block struct {
	kind, label string // the first label, "" without one
	from, to    int    // the offsets of its braces
	arguments   []argument
}

// argument is an argument of a block.
type argument struct {
	name     string
	from, to int // the offsets of its name and of the end of its value
}

// outlineOf returns the outline of a text.
func outlineOf(source string, tokens hclsyntax.Tokens) outline {
	s := newScanner(0)
	for _, token := range tokens {
		s.take(token)
	}
	for len(s.open) > 0 { // what is not closed goes on to the end
		s.end(len(source))
	}
	s.endArgument(len(source))
	s.outline[0].to = len(source)
	return s.outline
}

// at returns the innermost block around an offset.
func (o outline) at(offset int) block {
	innermost := o[0]
	for _, b := range o[1:] {
		if b.from < offset && offset <= b.to {
			innermost = b
		}
	}
	return innermost
}

// declared returns the names of the declarations of a kind.
func (o outline) declared(kind string) []string {
	var names []string
	for _, b := range o {
		switch {
		case b.kind == kind && b.label != "":
			names = append(names, b.label)
		case b.kind == "locals" && kind == "local":
			for _, a := range b.arguments {
				names = append(names, a.name)
			}
		}
	}
	return names
}

// argument returns the argument of the file itself that has a name.
func (o outline) argument(name string) (argument, bool) {
	for _, a := range o[0].arguments {
		if a.name == name {
			return a, true
		}
	}
	return argument{}, false
}
