package pipeline

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"prdrunner/pipeline/suggest"
)

// approvalBlock is an approval block as the file has it.
type approvalBlock struct {
	block     *hclsyntax.Block
	message   *argument
	approvers *argument
	timeout   *argument
	inputs    []*inputBlock
}

// inputBlock is an input block of an approval: a value that a person gives with the answer.
type inputBlock struct {
	name        string
	block       *hclsyntax.Block
	typ         InputType
	description *argument
	fallback    *argument
	options     *argument
}

var approvalSchema = &hcl.BodySchema{
	Attributes: append(attributes("approvers", "timeout"), hcl.AttributeSchema{Name: "message", Required: true}),
	Blocks:     []hcl.BlockHeaderSchema{{Type: "input", LabelNames: []string{"name"}}},
}

var inputSchema = &hcl.BodySchema{Attributes: attributes("type", "description", "default", "options")}

func (d *decoder) decodeApproval(block *hclsyntax.Block) *approvalBlock {
	content := d.content(block.Body, approvalSchema)
	a := &approvalBlock{
		block:     block,
		message:   d.argument(content, "message"),
		approvers: d.argument(content, "approvers"),
		timeout:   d.argument(content, "timeout"),
	}
	for _, inner := range content.Blocks {
		input := d.decodeInput(inner)
		if a.input(input.name) != nil {
			d.report("Duplicate input", fmt.Sprintf("There is more than one input %q in this approval. Rename or remove one of them.", input.name), inner.LabelRanges[0])
			continue
		}
		a.inputs = append(a.inputs, input)
	}
	return a
}

func (d *decoder) decodeInput(block *hclsyntax.Block) *inputBlock {
	content := d.content(block.Body, inputSchema)
	in := &inputBlock{
		name: d.identifier(block), block: block, typ: InputString,
		description: d.argument(content, "description"),
		fallback:    d.argument(content, "default"),
		options:     d.argument(content, "options"),
	}
	if attr, ok := content.Attributes["type"]; ok {
		in.typ = InputType(hcl.ExprAsKeyword(attr.Expr))
		if _, known := in.typ.value(); !known {
			d.report("Invalid type of an input", `The type of an input is string, number or bool, written without quotes: type = string.`, attr.Expr.Range())
			in.typ = InputString
		}
	}
	return in
}

// valueType returns the type of the value in expressions.
func (in *inputBlock) valueType() cty.Type {
	typ, _ := in.typ.value() // decodeInput has checked it
	return typ
}

// input returns the input with a name, or nil.
func (a *approvalBlock) input(name string) *inputBlock {
	if i := slices.IndexFunc(a.inputs, func(in *inputBlock) bool { return in.name == name }); i >= 0 {
		return a.inputs[i]
	}
	return nil
}

// inputNames yields the names of the inputs.
func (a *approvalBlock) inputNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, in := range a.inputs {
			if !yield(in.name) {
				return
			}
		}
	}
}

// InputType is the type of an input of an approval.
type InputType string

// The types of inputs.
const (
	InputString InputType = "string"
	InputNumber InputType = "number"
	InputBool   InputType = "bool"
)

// value returns the type of the values in expressions, and false for an unknown type.
func (t InputType) value() (cty.Type, bool) {
	switch t {
	case InputString:
		return cty.String, true
	case InputNumber:
		return cty.Number, true
	case InputBool:
		return cty.Bool, true
	}
	return cty.String, false
}

// ApprovalInput is a value that a person gives with an answer. Values are texts: a number
// in decimal, true or false, or the string itself.
type ApprovalInput struct {
	Name        string
	Type        InputType
	Description string
	Default     *string  // nil: an approval must give the value
	Options     []string // empty: any value of the type
}

func (b *builder) approval(block *approvalBlock, fr frame) *ApprovalRule {
	rule := &ApprovalRule{
		Message:   b.evalText(block.message, fr),
		Approvers: b.stringList(block.approvers, fr),
		Timeout:   b.duration(block.timeout, fr),
	}
	for _, in := range block.inputs {
		rule.Inputs = append(rule.Inputs, b.input(in, fr))
	}
	return rule
}

func (b *builder) input(block *inputBlock, fr frame) ApprovalInput {
	in := ApprovalInput{Name: block.name, Type: block.typ, Description: b.evalText(block.description, fr)}
	if block.options != nil {
		in.Options = b.inputOptions(block, fr)
	}
	if block.fallback == nil {
		return in
	}
	value, ok := b.constant(block.fallback, fr, block.valueType())
	if !ok {
		return in
	}
	text := inputText(value)
	if len(in.Options) > 0 && !slices.Contains(in.Options, text) {
		b.errorf("Default that is no option", block.fallback.exprRange(), "The default of the input %q is %q, but its options are: %s.%s", in.Name, text, suggest.Listing(slices.Values(in.Options)), suggest.DidYouMean(text, slices.Values(in.Options)))
	}
	in.Default = &text
	return in
}

func (b *builder) inputOptions(block *inputBlock, fr frame) []string {
	if block.typ == InputBool {
		b.errorf("Argument without effect", block.options.nameRange, `"options" has no meaning for an input of the type bool, which is true or false.`)
		return nil
	}
	value, ok := b.constant(block.options, fr, cty.List(block.valueType()))
	if !ok {
		return nil
	}
	var options []string
	for _, option := range value.AsValueSlice() {
		if option.IsNull() {
			b.errorf("Incorrect value type", block.options.exprRange(), `An element of "options" must not be null.`)
			return nil
		}
		options = append(options, inputText(option))
	}
	if len(options) == 0 {
		b.errorf("Invalid value for argument", block.options.exprRange(), `"options" must not be empty; without it, any value can be given.`)
	}
	return options
}

// inputText returns the text of a value of an input.
func inputText(value cty.Value) string {
	text, err := convert.Convert(value, cty.String)
	if err != nil {
		return "" // every value of these types has a text
	}
	return text.AsString()
}

// addToDigest adds the approval to a digest. The timeout and the descriptions of inputs do
// not count: they do not change what people approved.
func (a *ApprovalRule) addToDigest(h *hasher) {
	h.writeField("message", a.Message)
	h.writeList("approvers", sorted(a.Approvers))
	for _, in := range a.Inputs {
		h.writeField("input", in.Name)
		h.writeField("type", string(in.Type))
		if in.Default != nil {
			h.writeField("default", *in.Default)
		}
		h.writeList("options", in.Options)
	}
}

// parts lists the parts of the approval, for the explanation of a change.
func (a *ApprovalRule) parts() []part {
	parts := []part{{name: "message", text: a.Message}}
	parts = append(parts, indexed("approvers", sorted(a.Approvers))...)
	for _, in := range a.Inputs {
		name := "input." + in.Name
		parts = append(parts, part{name: name + ".type", text: string(in.Type)})
		if in.Default != nil {
			parts = append(parts, part{name: name + ".default", text: *in.Default})
		}
		parts = append(parts, indexed(name+".options", in.Options)...)
	}
	return parts
}

// answers returns the value of gate.NAME for an answer. An input that was not given is
// missing.
func (a *approvalBlock) answers(answer Answer) cty.Value {
	inputs := map[string]cty.Value{}
	for name, text := range answer.Inputs {
		in := a.input(name)
		if in == nil {
			continue
		}
		if value, err := convert.Convert(cty.StringVal(text), in.valueType()); err == nil {
			inputs[name] = value
		}
	}
	return cty.ObjectVal(map[string]cty.Value{"inputs": cty.ObjectVal(inputs)})
}

// unknownAnswers returns the value of gate.NAME while there is no answer.
func (a *approvalBlock) unknownAnswers() cty.Value {
	inputs := map[string]cty.Value{}
	for _, in := range a.inputs {
		inputs[in.name] = cty.UnknownVal(in.valueType())
	}
	return cty.ObjectVal(map[string]cty.Value{"inputs": cty.ObjectVal(inputs)})
}

// Answer is a person's answer to an approval, or that the approval was skipped.
type Answer struct {
	Inputs  map[string]string
	Skipped bool
}

func missingAnswer(gate, name string, answer Answer, ref reference) *hcl.Diagnostic {
	detail := fmt.Sprintf("The gate %s passed without the input %q. It was given: %s. try(…, VALUE) gives another value then.", gate, name, suggest.Listing(maps.Keys(answer.Inputs)))
	if answer.Skipped {
		detail = fmt.Sprintf("The gate %s was skipped, and has no input %q. try(…, VALUE) gives another value then.", gate, name)
	}
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Missing input", Detail: detail, Subject: ref.rng.Ptr()}
}
