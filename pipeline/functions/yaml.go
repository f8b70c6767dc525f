package functions

import (
	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"go.yaml.in/yaml/v3"
)

// maxYAMLValues is the largest number of values that yamldecode returns. A value counts
// as often as aliases repeat it, because a few lines of nested aliases can stand for
// more values than fit in memory.
const maxYAMLValues = 1_000_000

// yamlDecodeFunc is cty's yamldecode with a limit on the number of values.
var yamlDecodeFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "src", Type: cty.String}},
	Type: func(args []cty.Value) (cty.Type, error) {
		if !args[0].IsKnown() {
			return cty.DynamicPseudoType, nil
		}
		if text := args[0].AsString(); !fitsYAML(text) {
			return cty.NilType, function.NewArgErrorf(0, "more than %d values; write out fewer of its aliases", maxYAMLValues)
		}
		return ctyyaml.YAMLDecodeFunc.ReturnTypeForValues(args)
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return ctyyaml.YAMLDecodeFunc.Call(args) },
})

// fitsYAML reports whether a text has at most maxYAMLValues values. For a text that is
// not YAML it returns true, so that the decoder reports the error.
func fitsYAML(text string) bool {
	var document yaml.Node
	if yaml.Unmarshal([]byte(text), &document) != nil {
		return true
	}
	return yamlValues(&document, map[*yaml.Node]int{}) <= maxYAMLValues
}

// yamlValues counts the values of a node, including those of aliases. It stops at
// maxYAMLValues+1. A node that contains itself counts as one value, because the decoder
// refuses it.
func yamlValues(n *yaml.Node, known map[*yaml.Node]int) int {
	if count, ok := known[n]; ok {
		return count
	}
	known[n] = 1 // while it is being counted
	count := 1
	if n.Kind == yaml.AliasNode {
		count = yamlValues(n.Alias, known)
	}
	for _, child := range n.Content {
		count = min(count+yamlValues(child, known), maxYAMLValues+1)
	}
	known[n] = count
	return count
}
