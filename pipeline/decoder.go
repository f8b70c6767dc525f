package pipeline

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// decoder turns HCL blocks into the block types of this package. It only
// looks at the shape: names, labels, which arguments are there. Expressions
// are kept as they are.
type decoder struct {
	source []byte
	diags  hcl.Diagnostics
}

// report adds an error.
func (d *decoder) report(summary, detail string, subject hcl.Range) {
	d.diags = append(d.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &subject})
}

// content is what a body holds of what its schema names; the rest is reported.
// A body that fits is returned as it is: hcl would copy each of thousands of
// blocks into maps to find that out.
func (d *decoder) content(body *hclsyntax.Body, schema *hcl.BodySchema) *hclsyntax.Body {
	if fits(body, schema) {
		return body
	}
	_, diags := body.Content(schema)
	explainForeign(diags, body)
	d.diags = append(d.diags, diags...)
	var blocks hclsyntax.Blocks
	for _, block := range body.Blocks {
		if !named(block, schema) {
			if block = translated(block, schema); block == nil {
				continue
			}
		}
		blocks = append(blocks, block)
	}
	return &hclsyntax.Body{
		Attributes: body.Attributes, // those that the schema does not name are not asked for
		Blocks:     blocks,
		SrcRange:   body.SrcRange,
		EndRange:   body.EndRange,
	}
}

// fits reports whether a body holds nothing that its schema does not name, and
// all that it requires.
func fits(body *hclsyntax.Body, schema *hcl.BodySchema) bool {
	known := 0
	for i := range schema.Attributes {
		_, given := body.Attributes[schema.Attributes[i].Name]
		if given {
			known++
		} else if schema.Attributes[i].Required {
			return false
		}
	}
	return known == len(body.Attributes) &&
		!slices.ContainsFunc(body.Blocks, func(block *hclsyntax.Block) bool { return !named(block, schema) })
}

// named reports whether a schema names such a block, with as many labels.
func named(block *hclsyntax.Block, schema *hcl.BodySchema) bool {
	return slices.ContainsFunc(schema.Blocks, func(header hcl.BlockHeaderSchema) bool {
		return header.Type == block.Type && len(header.LabelNames) == len(block.Labels)
	})
}

// argument returns an argument of a block, or nil where it is not given.
func (d *decoder) argument(content *hclsyntax.Body, name string) *argument {
	attr, ok := content.Attributes[name]
	if !ok {
		return nil
	}
	return d.newArgument(attr)
}

func (d *decoder) newArgument(attr *hclsyntax.Attribute) *argument {
	return newArgument(attr.Name, attr.NameRange, attr.Expr, d.source)
}

// single returns the only block of a type, or nil.
func (d *decoder) single(content *hclsyntax.Body, kind string) *hclsyntax.Block {
	var first *hclsyntax.Block
	for _, block := range content.Blocks {
		if block.Type != kind {
			continue
		}
		if first != nil {
			d.report("Duplicate "+kind+" block",
				fmt.Sprintf("Only one %q block is allowed here; the first one is at line %d.", kind, first.DefRange().Start.Line), block.DefRange())
			continue
		}
		first = block
	}
	return first
}

// identifier checks the label of a block that can be referred to.
func (d *decoder) identifier(block *hclsyntax.Block) string {
	name := block.Labels[0]
	if !isPlainIdentifier(name) && !hclsyntax.ValidIdentifier(name) {
		d.report("Invalid name",
			fmt.Sprintf("%q cannot be the name of a %s. Names begin with a letter or an underscore and hold letters, digits, underscores and dashes.", name, block.Type),
			block.LabelRanges[0])
	}
	return name
}

// isPlainIdentifier reports whether a name is an identifier of ASCII, as nearly all
// are. To find that out of others too, hclsyntax starts its scanner.
func isPlainIdentifier(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_':
		case i > 0 && ('0' <= c && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return name != ""
}

// attributes makes the attribute part of a schema, all optional.
func attributes(names ...string) []hcl.AttributeSchema {
	schema := make([]hcl.AttributeSchema, len(names))
	for i, name := range names {
		schema[i].Name = name
	}
	return schema
}
