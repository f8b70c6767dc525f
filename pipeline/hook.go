package pipeline

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// hookBlock is a hook as the file has it.
type hookBlock struct {
	event   HookEvent
	block   *hclsyntax.Block
	process process
	timeout *argument
}

var hookEvents = []HookEvent{HookComplete, HookFailed, HookPaused, HookInterrupted}

var hookSchema = &hcl.BodySchema{Attributes: attributes("command", "script", "shell", "env", "dir", "timeout")}

func (d *decoder) decodeHook(block *hclsyntax.Block) *hookBlock {
	content := d.content(block.Body, hookSchema)
	h := &hookBlock{
		event:   HookEvent(block.Labels[0]),
		block:   block,
		process: d.decodeProcess(content, block.DefRange()),
		timeout: d.argument(content, "timeout"),
	}
	if !slices.Contains(hookEvents, h.event) {
		names := func(yield func(string) bool) {
			for _, event := range hookEvents {
				if !yield(string(event)) {
					return
				}
			}
		}
		d.report("Unknown hook event", fmt.Sprintf("There is no event %q; a hook is for one of: %s.%s", h.event, listing(names), didYouMean(string(h.event), names)), block.LabelRanges[0])
	}
	if !h.process.exists() && !saidUnderOtherName(block.Body, "script") {
		d.report("Missing command", `A hook needs a "command" or a "script".`, block.DefRange())
	}
	return h
}

// hookDef is a hook that can be evaluated.
type hookDef struct {
	process *processDef
	end     position // after all phases
}

// buildHooks creates the hooks.
func (b *builder) buildHooks(blocks []*hookBlock, defaults *defaultsDef) {
	for _, block := range blocks {
		fr := hookFrame(block.event)
		def := &hookDef{process: b.newProcessDef(block.process, defaults)}
		def.end = position{phase: &Phase{Number: len(b.phases) + 1}, what: "the hook"}
		b.checkProcess(def.process, fr)
		for a := range def.process.arguments {
			if fr.allow&kindWorkstream != 0 { // for other hooks, noteRead checks the files that they read
				b.checkOrder(a, fr, def.end)
				b.checkAnswers(a, def.end)
			}
		}
		b.pipeline.Hooks = append(b.pipeline.Hooks, &Hook{
			Event:   block.event,
			Timeout: b.duration(block.timeout, constantFrame(noEach)),
			Range:   block.block.DefRange(),
			def:     def,
		})
	}
}

// Invocation evaluates the process of the hook.
func (h *Hook) Invocation(r Results) (Invocation, hcl.Diagnostics) {
	fr := hookFrame(h.Event)
	fr.results, fr.at = &r, h.def.end
	return h.def.process.invocation(fr)
}

// hookFrame returns the values that the process of a hook may use. Only a hook for
// "complete" may use results, because for other events it is not certain how far the run
// came.
func hookFrame(event HookEvent) frame {
	fr := constantFrame(noEach)
	if fr.allow |= kindRun | kindIssue; event == HookComplete {
		fr.allow |= kindDeferred
	} else {
		fr.noResults = "This hook runs however far the run came, and only hook \"complete\" can use results and artifacts"
	}
	return fr
}
