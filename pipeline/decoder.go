package pipeline

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// decoder turns HCL blocks into the block types of this package. It checks only their
// shape: names, labels, and which arguments are given. It does not evaluate expressions.
type decoder struct {
	source []byte
	diags  hcl.Diagnostics
}

// report adds an error.
func (d *decoder) report(summary, detail string, subject hcl.Range) {
	d.diags = append(d.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &subject})
}

// content returns the arguments and blocks of a body that its schema names, and reports
// the others. A body that has no others is returned unchanged, because hcl would copy
// each of thousands of blocks into maps.
func (d *decoder) content(body *hclsyntax.Body, schema *hcl.BodySchema) *hclsyntax.Body {
	if matchesSchema(body, schema) {
		return body
	}
	_, diags := body.Content(schema)
	explainForeign(diags, body)
	nameExpected(diags, schema)
	d.diags = append(d.diags, diags...)
	var blocks hclsyntax.Blocks
	for _, block := range body.Blocks {
		if !declaresBlock(block, schema) {
			if block = translated(block, schema); block == nil {
				continue
			}
		}
		blocks = append(blocks, block)
	}
	return &hclsyntax.Body{
		Attributes: body.Attributes, // callers ask only for those in the schema
		Blocks:     blocks,
		SrcRange:   body.SrcRange,
		EndRange:   body.EndRange,
	}
}

// matchesSchema reports whether a body holds everything that its schema requires, and
// nothing that the schema does not name.
func matchesSchema(body *hclsyntax.Body, schema *hcl.BodySchema) bool {
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
		!slices.ContainsFunc(body.Blocks, func(block *hclsyntax.Block) bool { return !declaresBlock(block, schema) })
}

// declaresBlock reports whether a schema names a block of this type with this number of
// labels.
func declaresBlock(block *hclsyntax.Block, schema *hcl.BodySchema) bool {
	return slices.ContainsFunc(schema.Blocks, func(header hcl.BlockHeaderSchema) bool {
		return header.Type == block.Type && len(header.LabelNames) == len(block.Labels)
	})
}

// argument returns an argument of a block, or nil if it is not given.
func (d *decoder) argument(content *hclsyntax.Body, name string) *argument {
	attr, ok := content.Attributes[name]
	if !ok {
		return nil
	}
	return d.newArgument(attr)
}

func (d *decoder) newArgument(attr *hclsyntax.Attribute) *argument {
	a := newArgument(attr.Name, attr.NameRange, attr.Expr, d.source)
	d.checkKeys(a.objects)
	return a
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

// identifier checks that the label of a block is an identifier, so that references can
// name the block.
func (d *decoder) identifier(block *hclsyntax.Block) string {
	name := block.Labels[0]
	if !isPlainIdentifier(name) && !hclsyntax.ValidIdentifier(name) {
		d.report("Invalid name",
			fmt.Sprintf("%q cannot be the name of this %s. Names begin with a letter or an underscore and hold letters, digits, underscores and dashes.", name, block.Type),
			block.LabelRanges[0])
	}
	return name
}

// isPlainIdentifier reports whether a name is an identifier in ASCII, as nearly all
// names are. It saves the scanner that hclsyntax starts for a general check.
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
