package pipeline

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"prdrunner/pipeline/suggest"
)

// maxReviewAttempts is the largest number of attempts at a review, and the default.
const maxReviewAttempts = 2

// reviewBlock is the adversarial review as the file has it.
type reviewBlock struct {
	block         *hclsyntax.Block
	process       process
	findings      *argument
	inputs        *argument
	timeout       *argument
	maxAttempts   *argument
	doNotShip     *argument
	shipWithGates *argument
}

var reviewSchema = &hcl.BodySchema{
	Attributes: append(attributes(processAttributes...), attributes("findings", "inputs", "timeout", "max_attempts", "do_not_ship", "ship_with_gates")...),
}

func (d *decoder) decodeReview(block *hclsyntax.Block) *reviewBlock {
	if block == nil {
		return nil
	}
	content := d.content(block.Body, reviewSchema)
	r := &reviewBlock{
		block:         block,
		process:       d.decodeProcess(content, block.DefRange()),
		findings:      d.argument(content, "findings"),
		inputs:        d.argument(content, "inputs"),
		timeout:       d.argument(content, "timeout"),
		maxAttempts:   d.argument(content, "max_attempts"),
		doNotShip:     d.argument(content, "do_not_ship"),
		shipWithGates: d.argument(content, "ship_with_gates"),
	}
	if !r.process.exists() && r.findings == nil && !saidUnderOtherName(block.Body, "script") {
		d.report("Review without findings", `A review needs a "command" or a "script" that writes its findings, or "findings", a file that holds them.`, block.DefRange())
	}
	return r
}

// Review is the adversarial review before the first phase.
type Review struct {
	Findings      string // the file with the findings, relative to the workspace; "": the process writes them to RUNNER_FINDINGS
	HasProcess    bool
	Inputs        []string // globs
	InputPatterns []string
	Timeout       time.Duration
	MaxAttempts   int
	DoNotShip     []string // severities
	ShipWithGates []string
	Range         hcl.Range

	process *processDef
}

// reviewFrame returns the values that the process of the review may use, which runs before
// everything else.
func reviewFrame(results *Results) frame {
	return frame{
		allow: kindVar | kindLocal | kindPipeline | kindRun | kindIssue, results: results,
		noResults: "The review runs before the first phase, when there are no results",
	}
}

func (b *builder) review(block *reviewBlock, defaults *defaultsDef) *Review {
	if block == nil {
		return nil
	}
	fr := constantFrame(noEach)
	r := &Review{
		Findings: b.evalPath(block.findings, fr), HasProcess: block.process.exists(), Inputs: b.evalGlobs(block.inputs, fr),
		Timeout: b.duration(block.timeout, fr), MaxAttempts: maxReviewAttempts, Range: block.block.DefRange(),
		DoNotShip: b.severities(block.doNotShip, fr, "p0"), ShipWithGates: b.severities(block.shipWithGates, fr, "p1"),
		process: b.newProcessDef(block.process, defaults),
	}
	r.InputPatterns = b.patterns(block.inputs, r.Inputs)
	if r.Timeout == 0 {
		r.Timeout = defaults.timeout
	}
	if n, ok := b.integer(block.maxAttempts, fr, 1); ok {
		if r.MaxAttempts = n; n > maxReviewAttempts {
			b.errorf("Invalid number", block.maxAttempts.exprRange(), `"max_attempts" must be 1 or %d; after that a person decides, with runner override.`, maxReviewAttempts)
		}
	}
	b.checkProcess(r.process, reviewFrame(nil))
	return r
}

// severities evaluates a list of severities.
func (b *builder) severities(a *argument, fr frame, fallback string) []string {
	if a == nil {
		return []string{fallback}
	}
	severities := []string{"p0", "p1", "p2", "p3"}
	list := b.stringList(a, fr)
	for i, s := range list {
		if !slices.Contains(severities, s) {
			b.errorf("Unknown severity", a.element(i, len(list)), "%q is no severity of a finding; it is one of: p0, p1, p2, p3.%s", s, suggest.DidYouMean(s, slices.Values(severities)))
		}
	}
	return list
}

// Invocation evaluates the process of the review. Its Definition is that of the review.
func (r *Review) Invocation(results Results) (Invocation, hcl.Diagnostics) {
	fr := reviewFrame(&results)
	ev, diags := r.process.evaluate(fr)
	if diags.HasErrors() {
		return Invocation{}, diags
	}
	h := newHasher()
	r.process.addToDigest(h, ev, fr)
	h.writeField("findings", r.Findings)
	h.writeList("inputs", inDigest(r.Inputs))
	h.writeList("do_not_ship", sorted(r.DoNotShip))
	h.writeList("ship_with_gates", sorted(r.ShipWithGates))
	inv := r.process.invoked(ev, h)
	if !r.HasProcess {
		inv.Command = nil
	}
	return inv, nil
}

// FindingGate is a gate that a finding of the review becomes.
type FindingGate struct {
	Name    string
	Command []string // nil: Script, or if that is "" a person says whether it is settled
	Script  string
	Message string // of the approval
}

// FindingPhase returns the phase to which the gates of findings belong: the last one that runs
// when nothing has failed. A later phase with run_on runs without it, or after a failure.
func (p *Pipeline) FindingPhase() *Phase {
	for _, phase := range slices.Backward(p.Phases) {
		if phase.RunOn == RunOnSucceeded {
			return phase
		}
	}
	return p.Phases[0] // which never has run_on
}

// AddFindingGates gives FindingPhase the gates of findings, which are judged after its own, in
// place of those that were added before. It is called before anything of the pipeline runs, and
// by one goroutine.
func (p *Pipeline) AddFindingGates(findings []FindingGate) {
	last := p.FindingPhase()
	last.Gates = slices.DeleteFunc(slices.Clone(last.Gates), func(g *Gate) bool { return g.ofFinding })
	for _, f := range findings {
		last.Gates = append(last.Gates, p.findingGate(last, f))
	}
}

func (p *Pipeline) findingGate(phase *Phase, f FindingGate) *Gate {
	rng := p.Range
	if p.Review != nil {
		rng = p.Review.Range
	}
	g := &Gate{Name: f.Name, Kind: GateApproval, Phase: phase, Range: rng, ofFinding: true, def: &gateDef{block: &gateBlock{name: f.Name}, scope: p.scope, each: noEach}}
	literal := func(s string) hclsyntax.Expression {
		return &hclsyntax.LiteralValueExpr{Val: cty.StringVal(s), SrcRange: rng}
	}
	process := process{rng: rng}
	switch {
	case len(f.Command) > 0:
		list := &hclsyntax.TupleConsExpr{SrcRange: rng}
		for _, arg := range f.Command {
			list.Exprs = append(list.Exprs, literal(arg))
		}
		process.command = &argument{name: "command", nameRange: rng, expr: list}
	case strings.TrimSpace(f.Script) != "":
		process.script = &argument{name: "script", nameRange: rng, expr: literal(f.Script)}
	default:
		g.Approval = &ApprovalRule{Message: f.Message}
		return g
	}
	g.Kind = GateCommand
	g.def.process = &processDef{process: process, scope: p.scope, uniform: true, fixed: true}
	return g
}
