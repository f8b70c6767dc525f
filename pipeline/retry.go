package pipeline

import (
	"math/big"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// retryBlock is a retry block, of a workstream, a hook or the defaults.
type retryBlock struct {
	block           *hclsyntax.Block
	attempts        *argument
	initialInterval *argument
	maxInterval     *argument
	multiplier      *argument
	jitter          *argument
	onExitCodes     *argument
}

var retrySchema = &hcl.BodySchema{
	Attributes: attributes("attempts", "initial_interval", "max_interval", "multiplier", "jitter", "on_exit_codes"),
}

func (d *decoder) decodeRetry(block *hclsyntax.Block) *retryBlock {
	if block == nil {
		return nil
	}
	content := d.content(block.Body, retrySchema)
	return &retryBlock{
		block:           block,
		attempts:        d.argument(content, "attempts"),
		initialInterval: d.argument(content, "initial_interval"),
		maxInterval:     d.argument(content, "max_interval"),
		multiplier:      d.argument(content, "multiplier"),
		jitter:          d.argument(content, "jitter"),
		onExitCodes:     d.argument(content, "on_exit_codes"),
	}
}

// noRetry is the default retry of a workstream and of a hook.
var noRetry = Retry{Attempts: 1, InitialInterval: time.Second, MaxInterval: 30 * time.Second, Multiplier: 2, Jitter: 0.5}

// buildRetry evaluates a retry block. Arguments that are not given keep the inherited
// values.
func (b *builder) buildRetry(block *retryBlock, inherited Retry, fr frame) Retry {
	r := inherited
	if block == nil {
		return r
	}
	if n, ok := b.integer(block.attempts, fr, 1); ok {
		r.Attempts = n
	}
	if d := b.duration(block.initialInterval, fr); d > 0 {
		r.InitialInterval = d
	}
	if d := b.duration(block.maxInterval, fr); d > 0 {
		r.MaxInterval = d
	}
	if n, ok := b.inRange(block.multiplier, fr, 1, 100); ok {
		r.Multiplier = n
	}
	if n, ok := b.inRange(block.jitter, fr, 0, 1); ok {
		r.Jitter = n
	}
	if codes := b.exitCodes(block.onExitCodes, fr); codes != nil {
		r.OnExitCodes = codes
	}
	if r.MaxInterval < r.InitialInterval {
		if block.maxInterval == nil {
			r.MaxInterval = r.InitialInterval
		} else {
			b.errorf("Invalid retry", block.maxInterval.exprRange(), "max_interval (%s) is shorter than initial_interval (%s).", r.MaxInterval, r.InitialInterval)
		}
	}
	return r
}

// inRange evaluates a number that must be between two bounds.
func (b *builder) inRange(a *argument, fr frame, low, high float64) (float64, bool) {
	n := b.number(a, fr)
	if n == nil {
		return 0, false
	}
	value, err := n.Float64()
	if err != nil || value < low || value > high {
		b.errorf("Invalid number", a.exprRange(), "%q must be a number from %g to %g.", a.name, low, high)
		return 0, false
	}
	return value, true
}

// exitCodes evaluates a list of exit codes. Code 0 is an error, because it means
// success.
func (b *builder) exitCodes(a *argument, fr frame) []int {
	if a == nil {
		return nil
	}
	value, ok := b.constant(a, fr, cty.List(cty.Number))
	if !ok {
		return nil
	}
	codes := []int{} // not nil, so that an empty list overrides the inherited one
	for it := value.ElementIterator(); it.Next(); {
		_, elem := it.Element()
		if elem.IsNull() {
			b.errorf("Invalid exit code", a.exprRange(), "An exit code in %q is null.", a.name)
			continue
		}
		code, accuracy := elem.AsBigFloat().Int64()
		if accuracy != big.Exact || code < 1 || code > 255 {
			b.errorf("Invalid exit code", a.exprRange(), "%s in %q is not the exit code of a failure; those are whole numbers from 1 to 255.", elem.AsBigFloat().Text('g', 10), a.name)
			continue
		}
		codes = append(codes, int(code))
	}
	return codes
}
