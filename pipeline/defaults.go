package pipeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// defaultsBlock is a defaults block, of the pipeline or of a phase: values that workstreams,
// gates and other processes inherit.
type defaultsBlock struct {
	process process // without a command or script
	timeout *argument
	effect  *argument
	retry   *retryBlock
}

var defaultsSchema = &hcl.BodySchema{
	Attributes: attributes("timeout", "effect", "shell", "dir", "env", envFileArgument),
	Blocks:     []hcl.BlockHeaderSchema{{Type: "retry"}},
}

func (d *decoder) decodeDefaults(block *hclsyntax.Block) *defaultsBlock {
	if block == nil {
		return nil
	}
	content := d.content(block.Body, defaultsSchema)
	def := &defaultsBlock{
		process: process{shell: d.argument(content, "shell")},
		timeout: d.argument(content, "timeout"),
		effect:  d.argument(content, "effect"),
		retry:   d.decodeRetry(d.single(content, "retry")),
	}
	d.decodeSurroundings(&def.process, content)
	return def
}

// defaultsDef is an evaluated defaults block.
type defaultsDef struct {
	process process       // of which only the shell is evaluated
	timeout time.Duration // of workstreams, and of gates that run a process
	effect  Effect
	retry   Retry
}

// noDefaults returns the defaults of a pipeline without a defaults block.
func noDefaults() *defaultsDef { return &defaultsDef{effect: Idempotent, retry: noRetry} }

// buildDefaults evaluates a defaults block, nil if there is none. What it does not say, the
// outer defaults say.
func (b *builder) buildDefaults(block *defaultsBlock, outer *defaultsDef) *defaultsDef {
	if block == nil {
		return outer
	}
	fr := constantFrame(noEach)
	own := block.process.without(func(a *argument) bool { return !b.checkArgument(a, a.frameOf(defaultsFrame())) })
	def := &defaultsDef{
		process: own.inherit(outer.process),
		timeout: cmp.Or(b.duration(block.timeout, fr), outer.timeout),
		effect:  b.effect(block.effect, fr, outer.effect),
		retry:   b.buildRetry(block.retry, outer.retry, fr),
	}
	if len(b.stringList(block.process.shell, fr)) == 0 {
		def.process.shell = outer.process.shell
	}
	return def
}

// defaultsFrame returns the values that dir and env of defaults may use: neither each nor
// results, because they are the same for all processes that inherit them.
func defaultsFrame() frame {
	return frame{
		allow:     kindVar | kindLocal | kindPipeline | kindRun | kindIssue,
		noResults: "Defaults are the same for all processes, and only the arguments of a workstream or gate can use results",
	}
}

// within returns the defaults without the arguments that use more than a process may use.
func (def *defaultsDef) within(fr frame) *defaultsDef {
	inner := *def
	inner.process = def.process.without(func(a *argument) bool { return a.kinds&^fr.allow != 0 })
	return &inner
}

// without returns a process without those arguments for its directory and environment that
// a function names.
func (p process) without(unwanted func(*argument) bool) process {
	p.dirs = slices.DeleteFunc(slices.Clone(p.dirs), unwanted)
	p.env = slices.DeleteFunc(slices.Clone(p.env), func(v envVariable) bool { return unwanted(v.value) })
	return p
}

func (b *builder) effect(a *argument, fr frame, fallback Effect) Effect {
	return oneOf(b, a, fr, fallback, Idempotent, Pure, Once)
}
