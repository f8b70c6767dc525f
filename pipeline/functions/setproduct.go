package functions

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// setProductFunc is cty's setproduct with a limit on the number of elements, because a
// large product would exhaust the memory.
var setProductFunc = function.New(&function.Spec{
	Description: stdlib.SetProductFunc.Description(),
	VarParam:    stdlib.SetProductFunc.VarParam(),
	Type:        stdlib.SetProductFunc.ReturnTypeForValues,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		size := 1.0
		for _, arg := range args {
			set, _ := arg.Unmark()
			size *= float64(set.LengthInt())
		}
		if size > maxRange {
			return cty.NilVal, fmt.Errorf("the product has more than %d elements", maxRange)
		}
		return stdlib.SetProductFunc.Call(args)
	},
})
