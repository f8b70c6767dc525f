package pipeline

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// decoder turns HCL blocks into the block types of this package. It only
// looks at the shape: names, labels, which arguments are there. Expressions
// are kept as they are.
type decoder struct {
	source  []byte
	diags   hcl.Diagnostics
	symbols []Symbol
}

// report adds an error.
func (d *decoder) report(summary, detail string, subject hcl.Range) {
	d.diags = append(d.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &subject})
}

// content is body.Content, its diagnostics taken.
func (d *decoder) content(body hcl.Body, schema *hcl.BodySchema) *hcl.BodyContent {
	content, diags := body.Content(schema)
	d.diags = append(d.diags, diags...)
	return content
}

// argument returns an argument of a block, or nil where it is not given.
func (d *decoder) argument(content *hcl.BodyContent, name string) *argument {
	attr, ok := content.Attributes[name]
	if !ok {
		return nil
	}
	return d.newArgument(attr)
}

func (d *decoder) newArgument(attr *hcl.Attribute) *argument {
	return newArgument(attr.Name, attr.NameRange, attr.Expr.(hclsyntax.Expression), d.source)
}

// single returns the only block of a type, or nil.
func (d *decoder) single(content *hcl.BodyContent, kind string) *hcl.Block {
	var first *hcl.Block
	for _, block := range content.Blocks {
		if block.Type != kind {
			continue
		}
		if first != nil {
			d.report("Duplicate "+kind+" block",
				fmt.Sprintf("Only one %q block is allowed here; the first one is at line %d.", kind, first.DefRange.Start.Line), block.DefRange)
			continue
		}
		first = block
	}
	return first
}

// identifier checks the label of a block that can be referred to.
func (d *decoder) identifier(block *hcl.Block) string {
	name := block.Labels[0]
	if !hclsyntax.ValidIdentifier(name) {
		d.report("Invalid name",
			fmt.Sprintf("%q cannot be the name of a %s. Names begin with a letter or an underscore and hold letters, digits, underscores and dashes.", name, block.Type),
			block.LabelRanges[0])
	}
	d.symbols = append(d.symbols, Symbol{Kind: block.Type, Name: name, Range: blockRange(block), NameRange: block.LabelRanges[0]})
	return name
}

// blockRange is the range of a whole block, its body included.
func blockRange(block *hcl.Block) hcl.Range {
	if body, ok := block.Body.(*hclsyntax.Body); ok {
		return hcl.RangeBetween(block.DefRange, body.SrcRange)
	}
	return block.DefRange
}

// attributes makes the attribute part of a schema, all optional.
func attributes(names ...string) []hcl.AttributeSchema {
	schema := make([]hcl.AttributeSchema, len(names))
	for i, name := range names {
		schema[i].Name = name
	}
	return schema
}

// Symbol is something that a file declares, for editors.
type Symbol struct {
	Kind      string // variable, local, gate, pipeline, phase, workstream, hook
	Name      string
	Range     hcl.Range // the whole declaration
	NameRange hcl.Range
}

// Symbols returns what the file declares, in its order within each block.
func (f *File) Symbols() []Symbol { return f.symbols }
