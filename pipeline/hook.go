package pipeline

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline/suggest"
)

// hookBlock is a hook as the file has it.
type hookBlock struct {
	block   *hclsyntax.Block
	on      *argument
	process process
	timeout *argument
	retry   *retryBlock
}

var hookEvents = []HookEvent{HookComplete, HookFailed, HookPaused, HookInterrupted}

var hookSchema = &hcl.BodySchema{
	Attributes: attributes("on", "command", "script", "shell", "env", envFileArgument, "dir", "timeout"),
	Blocks:     []hcl.BlockHeaderSchema{{Type: "retry"}},
}

func (d *decoder) decodeHook(block *hclsyntax.Block) *hookBlock {
	content := d.content(block.Body, hookSchema)
	h := &hookBlock{
		block:   block,
		on:      d.argument(content, "on"),
		process: d.decodeProcess(content, block.DefRange()),
		timeout: d.argument(content, "timeout"),
		retry:   d.decodeRetry(d.single(content, "retry")),
	}
	if h.on == nil && !saidUnderOtherName(block.Body, "on") {
		d.report("Missing hook event", missingHookEvent, block.DefRange())
	}
	if !h.process.exists() && !saidUnderOtherName(block.Body, "script") {
		d.report("Missing command", `A hook needs a "command" or a "script".`, block.DefRange())
	}
	return h
}

const missingHookEvent = `A hook needs the events after which it runs: on = ["failed"]. They are complete, failed, interrupted and paused.`

// withoutHookLabels reports hooks with labels. The body that it returns has the events of
// these labels in the argument "on", so that all other mistakes are reported, too.
func (d *decoder) withoutHookLabels(body *hclsyntax.Body) *hclsyntax.Body {
	labelled := func(block *hclsyntax.Block) bool { return block.Type == "hook" && len(block.Labels) > 0 }
	if !slices.ContainsFunc(body.Blocks, labelled) {
		return body
	}
	corrected := *body
	corrected.Blocks = slices.Clone(body.Blocks)
	for i, block := range corrected.Blocks {
		if labelled(block) {
			rng := hcl.RangeBetween(block.LabelRanges[0], block.LabelRanges[len(block.LabelRanges)-1])
			on := `on = ["` + strings.Join(block.Labels, `", "`) + `"]`
			d.report("Hook with a label", "The events of a hook stand in an argument. Instead of the label, write: hook { "+on+" }.", rng)
			corrected.Blocks[i] = withEventsOfLabels(block, rng)
		}
	}
	return &corrected
}

// withEventsOfLabels returns a hook with the argument "on" instead of labels.
func withEventsOfLabels(block *hclsyntax.Block, rng hcl.Range) *hclsyntax.Block {
	corrected, body := *block, *block.Body
	corrected.Labels, corrected.LabelRanges, corrected.Body = nil, nil, &body
	if body.Attributes["on"] == nil {
		events := &hclsyntax.TupleConsExpr{SrcRange: rng}
		for i, label := range block.Labels {
			events.Exprs = append(events.Exprs, &hclsyntax.LiteralValueExpr{Val: cty.StringVal(label), SrcRange: block.LabelRanges[i]})
		}
		attributes := make(hclsyntax.Attributes, len(body.Attributes)+1) // a body with syntax errors may have none
		maps.Copy(attributes, body.Attributes)
		body.Attributes = attributes
		attributes["on"] = &hclsyntax.Attribute{Name: "on", Expr: events, SrcRange: rng, NameRange: rng}
	}
	return &corrected
}

// hookDef is a hook that can be evaluated.
type hookDef struct {
	process *processDef
	end     position // after all phases
}

// buildHooks creates the hooks.
func (b *builder) buildHooks(blocks []*hookBlock, defaults *defaultsDef) {
	for _, block := range blocks {
		on := b.hookEvents(block)
		fr := hookFrame(on)
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
			On:      on,
			Timeout: b.duration(block.timeout, constantFrame(noEach)),
			Retry:   b.buildRetry(block.retry, noRetry, constantFrame(noEach)), // not that of the defaults, which is for work
			Range:   block.block.DefRange(),
			def:     def,
		})
	}
}

// Invocation evaluates the process of the hook.
func (h *Hook) Invocation(r Results) (Invocation, hcl.Diagnostics) {
	fr := hookFrame(h.On)
	fr.results, fr.at = &r, h.def.end
	return h.def.process.invocation(fr)
}

// hookEvents evaluates the events of a hook. After a mistake it returns those that are
// right.
func (b *builder) hookEvents(block *hookBlock) []HookEvent {
	if block.on == nil {
		return nil // decodeHook has reported it
	}
	fr := constantFrame(noEach)
	fr.nullable = true
	value, ok := b.constant(block.on, fr, cty.DynamicPseudoType)
	switch {
	case !ok:
		return nil
	case value.IsNull():
		b.errorf("Missing hook event", block.block.DefRange(), missingHookEvent)
		return nil
	}
	mistakes := len(b.diags)
	names := b.stringList(block.on, fr)
	if len(names) == 0 && len(b.diags) == mistakes {
		b.errorf("Missing hook event", block.on.exprRange(), missingHookEvent)
	}
	var on []HookEvent
	for i, name := range names {
		event, place := HookEvent(name), block.on.element(i, len(names))
		switch {
		case !slices.Contains(hookEvents, event):
			b.errorf("Unknown hook event", place, "There is no event %q; a hook runs after: %s.%s", name, suggest.Listing(eventNames), suggest.DidYouMean(name, eventNames))
		case slices.Contains(on, event):
			b.errorf("Duplicate hook event", place, "The event %q is already in this list. Remove one of them.", name)
		default:
			on = append(on, event)
		}
	}
	return on
}

// eventNames yields the names of the events.
func eventNames(yield func(string) bool) {
	for _, event := range hookEvents {
		if !yield(string(event)) {
			return
		}
	}
}

// hookFrame returns the values that the process of a hook may use. Only a hook for nothing
// but "complete" may use results, because for other events it is not certain how far the
// run came. A hook without events has a mistake; whatever it uses is no further mistake.
func hookFrame(on []HookEvent) frame {
	fr := constantFrame(noEach)
	fr.allow |= kindRun | kindIssue
	if others := func(event HookEvent) bool { return event != HookComplete }; !slices.ContainsFunc(on, others) {
		fr.allow |= kindDeferred
	} else {
		fr.noResults = `This hook runs however far the run came, and only a hook with on = ["complete"] can use results and artifacts`
	}
	return fr
}
