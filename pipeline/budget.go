package pipeline

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// budgetBlock is a budget block as the file has it.
type budgetBlock struct {
	block       *hclsyntax.Block
	maxCost     *argument
	maxTokens   *argument
	maxDuration *argument
}

var budgetSchema = &hcl.BodySchema{Attributes: attributes("max_cost_usd", "max_tokens", "max_duration")}

func (d *decoder) decodeBudget(block *hclsyntax.Block) *budgetBlock {
	if block == nil {
		return nil
	}
	content := d.content(block.Body, budgetSchema)
	budget := &budgetBlock{
		block:       block,
		maxCost:     d.argument(content, "max_cost_usd"),
		maxTokens:   d.argument(content, "max_tokens"),
		maxDuration: d.argument(content, "max_duration"),
	}
	if budget.maxCost == nil && budget.maxTokens == nil && budget.maxDuration == nil {
		d.report("Empty budget", `A budget has at least one of "max_cost_usd", "max_tokens" and "max_duration".`, block.DefRange())
	}
	return budget
}

// Budget bounds what work may cost. A field that is zero bounds nothing.
type Budget struct {
	MaxCostUSD  json.Number
	MaxTokens   int64 // in both directions
	MaxDuration time.Duration
	Range       hcl.Range
}

func (b *builder) budget(block *budgetBlock, fr frame) *Budget {
	if block == nil {
		return nil
	}
	budget := &Budget{MaxDuration: b.duration(block.maxDuration, fr), Range: block.block.DefRange()}
	if cost := b.number(block.maxCost, fr); cost != nil {
		budget.MaxCostUSD = *cost
		if n, err := cost.Float64(); err != nil || n < 1e-9 || n > 1e9 {
			b.errorf("Invalid number", block.maxCost.exprRange(), `"max_cost_usd" must be a number of US dollars from 0.000000001 to 1000000000.`)
		}
	}
	if tokens := b.number(block.maxTokens, fr); tokens != nil {
		n, err := strconv.ParseInt(string(*tokens), 10, 64)
		if err != nil || n < 1 {
			b.errorf("Invalid number", block.maxTokens.exprRange(), `"max_tokens" must be a whole number greater than 0.`)
		}
		budget.MaxTokens = n
	}
	return budget
}
