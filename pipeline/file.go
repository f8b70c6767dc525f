package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline/limits"
)

// File is the syntax of a pipeline file: its blocks, with expressions that are not yet
// evaluated, and after Including also those of the files that it includes. It is partial if
// the file has mistakes. It is immutable and safe for concurrent use.
type File struct {
	name   string
	source []byte
	body   *hclsyntax.Body // nil: nothing could be understood
	diags  hcl.Diagnostics // what Parse found
	// unread is true if the file has syntax errors, or if an included file can't be read:
	// mistakes that may follow from that are not reported.
	unread bool

	include  *argument        // the globs of the files that it includes
	included []*File          // these files, sorted by path; nil before Including has read them
	called   map[string]*File // the files of the pipelines that it calls, by path; a value is nil after a mistake

	variables []*variableBlock
	locals    []*localDef
	gates     []*gateBlock
	agents    []*agentBlock // outside of the pipeline block
	pipeline  *pipelineBlock
}

// Name returns the name under which the file appears in diagnostics.
func (f *File) Name() string { return f.name }

// Source returns the bytes of the file. They must not be changed.
func (f *File) Source() []byte { return f.source }

// Sources returns the file, and those that it includes and calls, in the shape that package
// diagnostics takes.
func (f *File) Sources() map[string][]byte {
	sources := map[string][]byte{f.name: f.source}
	for _, g := range f.included {
		sources[g.name] = g.source
	}
	for name, g := range f.allCalled() {
		sources[name] = g.source
	}
	return sources
}

// Diagnostics returns what Parse, Load or Including found.
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
	case info.Size() > limits.MaxFileSize:
		return nil, unreadable("The file %q is larger than %d MiB.", path, limits.MaxFileSize>>20)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, unreadable("The file %q cannot be read: %s.", path, err)
	}
	return src, nil
}

var fileSchema = &hcl.BodySchema{
	Attributes: attributes("include"),
	Blocks: []hcl.BlockHeaderSchema{
		{Type: "variable", LabelNames: []string{"name"}},
		{Type: "locals"},
		{Type: "gate", LabelNames: []string{"name"}},
		{Type: "agent", LabelNames: []string{"name"}},
		{Type: "pipeline", LabelNames: []string{"id"}},
	},
}

// Parse reads the syntax of a pipeline file. The filename is used for source ranges
// only. The File is never nil, and holds the parts that could be understood.
func Parse(src []byte, filename string) (*File, hcl.Diagnostics) {
	f := parse(src, filename, (*decoder).checkMain)
	return f, f.diags
}

// parse reads a file, and checks it as one that includes others or as one that is included.
func parse(src []byte, filename string, check func(*decoder, *File, *hclsyntax.Body)) *File {
	f := &File{name: filename, source: src}
	if diag := limits.Check(src, filename); diag != nil {
		f.unread, f.diags = true, hcl.Diagnostics{diag}
		return f
	}
	parsed, diags := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	f.unread, f.diags = diags.HasErrors(), diags
	d := &decoder{source: src, diags: diags}
	if body, ok := parsed.Body.(*hclsyntax.Body); ok {
		f.body = body
		d.decodeFile(f, body)
		check(d, f, body)
	}
	if !f.unread { // the schema of a half-parsed file is not worth complaining about
		f.diags = d.diags
	}
	return f
}

func (d *decoder) decodeFile(f *File, body *hclsyntax.Body) {
	content := d.content(body, fileSchema)
	f.include = d.argument(content, "include")
	for _, block := range content.Blocks {
		switch block.Type {
		case "variable":
			f.variables = append(f.variables, d.decodeVariable(block))
		case "locals":
			f.locals = append(f.locals, d.decodeLocals(block)...)
		case "gate":
			f.gates = append(f.gates, d.decodeGate(block, true))
		case "agent":
			f.agents = append(f.agents, d.decodeAgent(block))
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
}

// checkMain checks a file that holds a pipeline.
func (d *decoder) checkMain(f *File, body *hclsyntax.Body) {
	if f.pipeline == nil {
		d.report("Missing pipeline block", `A file must hold one block: pipeline "PRD-001" { … }. A file that others include is checked with them.`, body.MissingItemRange())
	}
	d.diags = append(d.diags, declarations{}.add(f)...)
}

// declarations holds the places of the names that files declare at their top level.
type declarations map[string]hcl.Range

// add adds the names of a file, and reports those that are declared already.
func (seen declarations) add(f *File) hcl.Diagnostics {
	var diags hcl.Diagnostics
	declare := func(kind, name string, rng hcl.Range) {
		id := kind + "." + name
		if first, ok := seen[id]; ok {
			diags = append(diags, &hcl.Diagnostic{
				Severity: hcl.DiagError,
				Summary:  "Duplicate " + kind,
				Detail:   fmt.Sprintf("%s is already declared at %s. Rename one of them.", id, lineOf(first, rng)),
				Subject:  &rng,
			})
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
	return diags
}
