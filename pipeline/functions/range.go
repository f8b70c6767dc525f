package functions

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// maxRange is the largest number of elements that range returns. The limit of cty's
// range is 1,024, which is too low for a for_each with thousands of instances.
const maxRange = 1_000_000

// rangeFunc is range(limit), range(start, limit) and range(start, limit, step), with the
// same meaning as in cty.
var rangeFunc = function.New(&function.Spec{
	Description: "Returns the numbers from a start, which is 0 by default, up to but not including a limit.",
	VarParam:    &function.Parameter{Name: "params", Type: cty.Number},
	Type:        function.StaticReturnType(cty.List(cty.Number)),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		start, limit, step, err := rangeBounds(args)
		if err != nil {
			return cty.NilVal, err
		}
		down := step.LessThan(cty.Zero).True()
		var numbers []cty.Value
		for n := start; ; n = n.Add(step) {
			if down && n.LessThanOrEqualTo(limit).True() || !down && n.GreaterThanOrEqualTo(limit).True() {
				break
			}
			if len(numbers) == maxRange {
				return cty.NilVal, function.NewArgErrorf(0, "more than %d numbers; bring the bounds closer together, or make the step larger", maxRange)
			}
			numbers = append(numbers, n)
		}
		if len(numbers) == 0 {
			return cty.ListValEmpty(cty.Number), nil
		}
		return cty.ListVal(numbers), nil
	},
})

// rangeBounds returns the start, the limit and the step of a range. The default start is
// 0, and the default step is 1 or -1, towards the limit.
func rangeBounds(args []cty.Value) (start, limit, step cty.Value, err error) {
	start, step = cty.Zero, cty.NumberIntVal(1)
	switch len(args) {
	case 1:
		limit = args[0]
	case 2, 3:
		start, limit = args[0], args[1]
	default:
		return start, limit, step, function.NewArgErrorf(0, "range takes one to three numbers, not %d", len(args))
	}
	if limit.LessThan(start).True() {
		step = cty.NumberIntVal(-1)
	}
	if len(args) < 3 {
		return start, limit, step, nil
	}
	step = args[2]
	away := limit.GreaterThan(start).True() && step.LessThan(cty.Zero).True() || limit.LessThan(start).True() && step.GreaterThan(cty.Zero).True()
	if step.RawEquals(cty.Zero) || away {
		return start, limit, step, function.NewArgErrorf(2, "the step must lead from the start to the limit")
	}
	return start, limit, step, nil
}
