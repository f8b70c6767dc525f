package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// maxFileSize bounds what Load reads and Parse accepts.
const maxFileSize = 16 << 20

// maxNesting is the largest depth of brackets, blocks and unary operators. The parser is
// recursive, so deeper nesting could exhaust the stack.
const maxNesting = 500

// File is the syntax of a pipeline file: its blocks, with expressions that are not yet
// evaluated. It is partial if the file has mistakes. It is immutable and safe for
// concurrent use.
type File struct {
	name   string
	source []byte
	diags  hcl.Diagnostics // what Parse found
	unread bool            // has syntax errors: mistakes that may follow from them are not reported

	variables []*variableBlock
	locals    []*localDef
	gates     []*gateBlock
	pipeline  *pipelineBlock
}

// Name returns the name under which the file appears in diagnostics.
func (f *File) Name() string { return f.name }

// Source returns the bytes of the file. They must not be changed.
func (f *File) Source() []byte { return f.source }

// Sources returns the file in the shape that WriteDiagnostics takes.
func (f *File) Sources() map[string][]byte { return map[string][]byte{f.name: f.source} }

// Diagnostics returns what Parse or Load found.
func (f *File) Diagnostics() hcl.Diagnostics { return f.diags }

// ID returns the id of the pipeline, "" if the file has no pipeline block.
func (f *File) ID() string {
	if f.pipeline == nil {
		return ""
	}
	return f.pipeline.id
}

// Sensitive lists the variables that are declared sensitive. It also lists a variable
// whose declaration has a mistake in this argument.
func (f *File) Sensitive() []string {
	var names []string
	for _, v := range f.variables {
		if v.sensitive == nil {
			continue
		}
		if value, diags := v.sensitive.expr.Value(nil); diags.HasErrors() || !value.RawEquals(cty.False) {
			names = append(names, v.name)
		}
	}
	return names
}

// Load reads and parses the file at path. If the file can't be read, it returns a
// diagnostic. The File is never nil.
func Load(path string) (*File, hcl.Diagnostics) {
	src, diag := readSource(path)
	if diag != nil {
		f := &File{name: path, unread: true, diags: hcl.Diagnostics{diag}}
		return f, f.diags
	}
	return Parse(src, path)
}

func readSource(path string) ([]byte, *hcl.Diagnostic) {
	unreadable := func(detail string, args ...any) *hcl.Diagnostic {
		return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Cannot read file", Detail: fmt.Sprintf(detail, args...)}
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, unreadable("The file %q does not exist.", path)
	case err != nil:
		return nil, unreadable("The file %q cannot be read: %s.", path, err)
	case !info.Mode().IsRegular():
		return nil, unreadable("%q is not a regular file.", path)
	case info.Size() > maxFileSize:
		return nil, unreadable("The file %q is larger than %d MiB.", path, maxFileSize>>20)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, unreadable("The file %q cannot be read: %s.", path, err)
	}
	return src, nil
}

var fileSchema = &hcl.BodySchema{
	Blocks: []hcl.BlockHeaderSchema{
		{Type: "variable", LabelNames: []string{"name"}},
		{Type: "locals"},
		{Type: "gate", LabelNames: []string{"name"}},
		{Type: "pipeline", LabelNames: []string{"id"}},
	},
}

// Parse reads the syntax of a pipeline file. The filename is used for source ranges
// only. The File is never nil, and holds the parts that could be understood.
func Parse(src []byte, filename string) (*File, hcl.Diagnostics) {
	f := &File{name: filename, source: src}
	if diag := tooDeep(src, filename); diag != nil {
		f.unread, f.diags = true, hcl.Diagnostics{diag}
		return f, f.diags
	}
	parsed, diags := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	f.unread, f.diags = diags.HasErrors(), diags
	d := &decoder{source: src, diags: diags}
	if body, ok := parsed.Body.(*hclsyntax.Body); ok {
		d.decodeFile(f, body)
	}
	if !f.unread { // the schema of a half-parsed file is not worth complaining about
		f.diags = d.diags
	}
	return f, f.diags
}

func (d *decoder) decodeFile(f *File, body *hclsyntax.Body) {
	content := d.content(body, fileSchema)
	for _, block := range content.Blocks {
		switch block.Type {
		case "variable":
			f.variables = append(f.variables, d.decodeVariable(block))
		case "locals":
			f.locals = append(f.locals, d.decodeLocals(block)...)
		case "gate":
			f.gates = append(f.gates, d.decodeGate(block, true))
		case "pipeline":
			if f.pipeline != nil {
				d.report("Duplicate pipeline block",
					fmt.Sprintf("A file holds exactly one pipeline; the first one is at line %d. Move this one to a file of its own.", f.pipeline.block.DefRange().Start.Line),
					block.DefRange())
				continue
			}
			f.pipeline = d.decodePipeline(block)
		}
	}
	if f.pipeline == nil {
		d.report("Missing pipeline block", `A file must hold one block: pipeline "PRD-001" { … }.`, content.MissingItemRange())
	}
	d.duplicateDeclarations(f)
}

// duplicateDeclarations reports names that are declared twice at file level.
func (d *decoder) duplicateDeclarations(f *File) {
	seen := map[string]hcl.Range{}
	declare := func(kind, name string, rng hcl.Range) {
		id := kind + "." + name
		if first, ok := seen[id]; ok {
			d.report("Duplicate "+kind, fmt.Sprintf("%s is already declared at line %d. Rename one of them.", id, first.Start.Line), rng)
			return
		}
		seen[id] = rng
	}
	for _, v := range f.variables {
		declare("variable", v.name, v.block.DefRange())
	}
	for _, l := range f.locals {
		declare("local", l.name, l.value.nameRange)
	}
	for _, g := range f.gates {
		declare("gate", g.name, g.block.DefRange())
	}
}

// tooDeep protects the recursive parser. It counts bytes first, which is cheap but
// rough, and counts tokens only if the first count is too high.
func tooDeep(src []byte, filename string) *hcl.Diagnostic {
	if len(src) > maxFileSize {
		return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "File too large", Detail: fmt.Sprintf("A pipeline file has at most %d MiB.", maxFileSize>>20)}
	}
	depth, run, suspicious := 0, 0, false
	for _, c := range src {
		switch c {
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			depth--
		case '!', '-', '?':
			run++
		case '\n':
			run = 0
		}
		if depth > maxNesting || run > maxNesting {
			suspicious = true
			break
		}
	}
	if !suspicious {
		return nil
	}
	return tokensTooDeep(src, filename)
}

func tokensTooDeep(src []byte, filename string) *hcl.Diagnostic {
	tokens, _ := hclsyntax.LexConfig(src, filename, hcl.InitialPos)
	depth, run := 0, 0
	for _, token := range tokens {
		switch token.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			depth--
		case hclsyntax.TokenBang, hclsyntax.TokenMinus, hclsyntax.TokenQuestion:
			run++
		case hclsyntax.TokenNewline:
			run = 0
		}
		if depth > maxNesting || run > maxNesting {
			return &hcl.Diagnostic{
				Severity: hcl.DiagError,
				Summary:  "Nesting too deep",
				Detail:   fmt.Sprintf("Brackets, blocks and operators may be nested at most %d deep. Move parts of the expression into locals.", maxNesting),
				Subject:  token.Range.Ptr(),
			}
		}
	}
	return nil
}
