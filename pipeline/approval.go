package pipeline

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// approvalBlock is an approval block as the file has it.
type approvalBlock struct {
	block     *hclsyntax.Block
	message   *argument
	approvers *argument
	timeout   *argument
}

var approvalSchema = &hcl.BodySchema{
	Attributes: append(attributes("approvers", "timeout"), hcl.AttributeSchema{Name: "message", Required: true}),
}

func (d *decoder) decodeApproval(block *hclsyntax.Block) *approvalBlock {
	content := d.content(block.Body, approvalSchema)
	return &approvalBlock{
		block:     block,
		message:   d.argument(content, "message"),
		approvers: d.argument(content, "approvers"),
		timeout:   d.argument(content, "timeout"),
	}
}

func (b *builder) approval(block *approvalBlock, fr frame) *ApprovalRule {
	return &ApprovalRule{
		Message:   b.evalText(block.message, fr),
		Approvers: b.stringList(block.approvers, fr),
		Timeout:   b.duration(block.timeout, fr),
	}
}

// addToDigest adds the approval to a digest. The timeout does not count: it does not
// change what people approved.
func (a *ApprovalRule) addToDigest(h *hasher) {
	h.writeField("message", a.Message)
	h.writeList("approvers", sorted(a.Approvers))
}
