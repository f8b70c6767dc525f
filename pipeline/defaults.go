package pipeline

import (
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// defaultsBlock is a defaults block: values that workstreams, gates and hooks inherit.
type defaultsBlock struct {
	timeout *argument
	effect  *argument
	shell   *argument
	retry   *retryBlock
}

var defaultsSchema = &hcl.BodySchema{
	Attributes: attributes("timeout", "effect", "shell"),
	Blocks:     []hcl.BlockHeaderSchema{{Type: "retry"}},
}

func (d *decoder) decodeDefaults(block *hclsyntax.Block) *defaultsBlock {
	content := d.content(block.Body, defaultsSchema)
	return &defaultsBlock{
		timeout: d.argument(content, "timeout"),
		effect:  d.argument(content, "effect"),
		shell:   d.argument(content, "shell"),
		retry:   d.decodeRetry(d.single(content, "retry")),
	}
}

// defaultsDef is an evaluated defaults block.
type defaultsDef struct {
	timeout time.Duration // of workstreams, and of gates that run a process
	effect  Effect
	shell   *argument
	retry   Retry
}

func (b *builder) defaults(block *defaultsBlock) *defaultsDef {
	def := &defaultsDef{effect: Idempotent, retry: noRetry}
	if block == nil {
		return def
	}
	fr := constantFrame(noEach)
	def.timeout = b.duration(block.timeout, fr)
	def.effect = b.effect(block.effect, fr, Idempotent)
	def.retry = b.buildRetry(block.retry, noRetry, fr)
	if block.shell != nil && len(b.stringList(block.shell, fr)) > 0 {
		def.shell = block.shell
	}
	return def
}

func (b *builder) effect(a *argument, fr frame, fallback Effect) Effect {
	return oneOf(b, a, fr, fallback, Idempotent, Pure, Once)
}
