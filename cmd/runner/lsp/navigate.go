package lsp

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/pipeline"
)

// name is a place where a declaration is named.
type name struct {
	kind, name string
	place      hcl.Range
	declares   bool
}

// ownGate is the kind of a gate that stands in a workstream or a phase. Gates of several of them may have one name.
const ownGate = "gate of its own"

// namesIn returns the places of a file that name declarations, in source order.
func namesIn(f *pipeline.File) []name {
	var all []name
	inPipeline := 0 // the end of the pipeline block
	for _, symbol := range f.Symbols() {
		n := name{symbol.Kind, symbol.Name, symbol.NameRange, true}
		if text := n.place.SliceBytes(f.Source()); len(text) > 1 && text[0] == '"' { // a label: without its quotes
			n.place.Start.Byte++
			n.place.End.Byte--
		}
		if symbol.Kind == "pipeline" {
			inPipeline = symbol.Range.End.Byte
		}
		if symbol.Kind == "gate" && symbol.Range.Start.Byte < inPipeline {
			n.kind = ownGate
		}
		all = append(all, n)
	}
	for _, ref := range f.References() {
		n := name{ref.Kind, ref.Name, ref.NameRange, false}
		if ref.Answer {
			n.kind = ownGate
		}
		all = append(all, n)
	}
	return all
}

// sameAs returns those of some places that name the same as n.
func (n name) sameAs(all []place) []place {
	shared := slices.ContainsFunc(all, func(p place) bool { return p.kind == "gate" && p.declares && p.name.name == n.name })
	kindOf := func(n name) string {
		if n.kind == ownGate && !n.declares && shared { // the answer to a gate that workstreams share
			return "gate"
		}
		return n.kind
	}
	var same []place
	declarations := 0
	for _, p := range all {
		if p.name.name == n.name && kindOf(p.name) == kindOf(n) {
			same = append(same, p)
			if p.declares {
				declarations++
			}
		}
	}
	if n.kind == ownGate && declarations > 1 {
		same = slices.DeleteFunc(same, func(p place) bool { return p.name != n })
	}
	return same
}

// nameAt returns what is named at a place of a document.
func nameAt(d *document, p position) (found name, ok bool) {
	offset := d.text.offset(p)
	for _, n := range d.names() {
		if n.place.Start.Byte <= offset && offset <= n.place.End.Byte {
			return n, true
		}
	}
	return name{}, false
}

// place is where something is named in one of several files.
type place struct {
	*source
	name
}

// placesIn returns the places of files that name declarations.
func placesIn(files []*source) []place {
	var all []place
	for _, f := range files {
		for _, n := range f.names() {
			all = append(all, place{f, n})
		}
	}
	return all
}

// places returns all places that name the same as one of a document.
func (s *server) places(d *document, n name) ([]place, error) {
	files, err := s.family(d)
	return n.sameAs(placesIn(files)), err
}

func (p place) location() location {
	return location{uriOf(p.path), p.text.hclRange(p.place)}
}

// definition returns where what is named at a place is declared, or the file that a call names there.
func (s *server) definition(d *document, p positionParams) ([]location, error) {
	found := []location{}
	n, ok := nameAt(d, p.Position)
	if !ok {
		return s.calledFile(d, p.Position)
	}
	all, err := s.places(d, n)
	for _, place := range all {
		if place.declares {
			found = append(found, place.location())
		}
	}
	return found, err
}

// calledFile returns the file that a text in quotes names.
func (s *server) calledFile(d *document, p position) ([]location, error) {
	found := []location{}
	c := cursorAt(d.source, d.text.offset(p))
	if !c.inString {
		return found, nil
	}
	rest, _, closed := strings.Cut(d.text.source[c.offset:], `"`)
	w, err := s.workspaceOf(d)
	if err != nil || !closed {
		return found, err
	}
	path := w.env.Path(d.text.source[c.start:c.offset] + rest)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		found = append(found, location{URI: uriOf(path)})
	}
	return found, nil
}

func (s *server) references(d *document, p positionParams) ([]location, error) {
	found := []location{}
	n, ok := nameAt(d, p.Position)
	if !ok {
		return found, nil
	}
	all, err := s.places(d, n)
	for _, place := range all {
		if !place.declares || p.Context.IncludeDeclaration {
			found = append(found, place.location())
		}
	}
	return found, err
}

// highlights returns the places in the document that refer to the declaration at a position, and the declaration itself.
func (s *server) highlights(d *document, p positionParams) ([]documentHighlight, error) {
	found := []documentHighlight{}
	n, ok := nameAt(d, p.Position)
	if !ok {
		return found, nil
	}
	for _, p := range n.sameAs(placesIn([]*source{d.source})) {
		found = append(found, documentHighlight{p.location().Range})
	}
	return found, nil
}

// cannotRename says why what is at a place can't be renamed, nil if it can.
func cannotRename(n name, ok bool) error {
	switch {
	case !ok:
		return fmt.Errorf("there is no name that could be changed here")
	case n.kind == "pipeline":
		return fmt.Errorf("the id of a pipeline is the name of its file and of its sessions; rename the file, and write the id there")
	}
	return nil
}

func (s *server) prepareRename(d *document, p positionParams) (textRange, error) {
	n, ok := nameAt(d, p.Position)
	if err := cannotRename(n, ok); err != nil {
		return textRange{}, err
	}
	return d.text.hclRange(n.place), nil
}

// rename returns the edits that give something another name wherever it is named.
func (s *server) rename(d *document, p positionParams) (workspaceEdit, error) {
	edit := workspaceEdit{map[string][]textEdit{}}
	n, ok := nameAt(d, p.Position)
	if err := cannotRename(n, ok); err != nil {
		return edit, err
	}
	if !regexp.MustCompile(`^[\pL_][\pL\pN_-]*$`).MatchString(p.NewName) {
		return edit, fmt.Errorf("%q can't be a name: names begin with a letter or an underscore, and hold letters, digits, underscores and dashes", p.NewName)
	}
	all, err := s.places(d, n)
	for _, place := range all {
		at := place.location()
		edit.Changes[at.URI] = append(edit.Changes[at.URI], textEdit{at.Range, p.NewName})
	}
	return edit, err
}

func (s *server) format(d *document, _ positionParams) ([]textEdit, error) {
	formatted := string(pipeline.Format([]byte(d.text.source)))
	if formatted == d.text.source {
		return []textEdit{}, nil
	}
	return []textEdit{{d.text.span(0, len(d.text.source)), formatted}}, nil
}

// symbols returns the declarations of a document, those within others below them.
func (s *server) symbols(d *document, _ positionParams) ([]documentSymbol, error) {
	roots := []documentSymbol{}
	type open struct {
		end      int
		children *[]documentSymbol
	}
	var around []open
	for _, symbol := range d.file().Symbols() {
		for len(around) > 0 && symbol.Range.Start.Byte >= around[len(around)-1].end {
			around = around[:len(around)-1]
		}
		into := &roots
		if len(around) > 0 {
			into = around[len(around)-1].children
		}
		*into = append(*into, documentSymbol{
			Name: symbol.Name, Detail: symbol.Kind, Kind: symbolKind(symbol.Kind),
			Range: d.text.hclRange(symbol.Range), SelectionRange: d.text.hclRange(symbol.NameRange),
		})
		around = append(around, open{symbol.Range.End.Byte, &(*into)[len(*into)-1].Children})
	}
	return roots, nil
}

// symbolKind returns the number by which the protocol knows a kind of symbol.
func symbolKind(kind string) int {
	switch kind {
	case "pipeline":
		return 2 // module
	case "phase":
		return 3 // namespace
	case "workstream":
		return 12 // function
	case "gate":
		return 24 // event
	case "variable", "local":
		return 13 // variable
	}
	return 19 // object
}

// declared returns the names of the declarations of a kind, sorted.
func declared(files []*source, kind string) []string {
	var names []string
	for _, f := range files {
		names = append(names, f.outline().declared(kind)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
