package pipeline

import (
	"cmp"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// checkKeys reports the keys that an object has twice. HCL takes the last value of such a key, so an
// element of for_each or a variable of env would be lost without a word.
func (d *decoder) checkKeys(objects []*hclsyntax.ObjectConsExpr) {
	for _, object := range objects {
		first := make(map[string]hcl.Range, len(object.Items))
		for _, item := range object.Items {
			key := cmp.Or(literalKey(item.KeyExpr), numberKey(item.KeyExpr))
			if key == "" {
				continue
			}
			at := item.KeyExpr.Range()
			if before, twice := first[key]; twice {
				d.report("Duplicate key", fmt.Sprintf("The key %q is given at line %d already, and only the last value would count. Rename one, or remove it.", key, before.Start.Line), at)
				continue
			}
			first[key] = at
		}
	}
}

// numberKey returns the key of an element that is written as a number, "" for any other.
func numberKey(key hclsyntax.Expression) string {
	expr, ok := key.(*hclsyntax.ObjectConsKeyExpr)
	if !ok {
		return ""
	}
	number, ok := expr.Wrapped.(*hclsyntax.LiteralValueExpr)
	if !ok || number.Val.Type() != cty.Number {
		return ""
	}
	return number.Val.AsBigFloat().Text('f', -1)
}
