package functions

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// evaluate evaluates an expression as a list of strings, nil if that is impossible.
func evaluate(expr string) ([]string, hcl.Diagnostics) {
	e, diags := hclsyntax.ParseExpression([]byte(expr), "f.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	value, diags := e.Value(&hcl.EvalContext{Functions: Standard()})
	if diags.HasErrors() {
		return nil, diags
	}
	list, err := convert.Convert(value, cty.List(cty.String))
	if err != nil {
		return nil, hcl.Diagnostics{{Severity: hcl.DiagError, Summary: err.Error()}}
	}
	texts := []string{}
	for _, v := range list.AsValueSlice() {
		texts = append(texts, v.AsString())
	}
	return texts, nil
}

func TestStandard(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string][]string{
		`sort(toset(["b", "a", "b"]))`:                            {"a", "b"},
		`tolist(toset([2, 1]))`:                                   {"1", "2"},
		`values(tomap({ b = "1", a = "2" }))`:                     {"2", "1"},
		`[length("héllo"), length([1]), length({ a = 1 })]`:       {"5", "1", "1"},
		`[alltrue([true, false]), anytrue([true, false])]`:        {"false", "true"},
		`[one(["x"]), sum([1, 2.5])]`:                             {"x", "3.5"},
		`[replace("a.b", ".", "-"), replace("aab", "/a+/", "x")]`: {"a-b", "xb"},
		`[base64decode(base64encode("x")), urlencode("a b")]`:     {"x", "a+b"},
		`[try(tonumber("x"), "y"), can(tonumber("x"))]`:           {"y", "false"},
		`range(3)`:         {"0", "1", "2"},
		`range(1, 2, 0.5)`: {"1", "1.5"},
		`range(2, -1)`:     {"2", "1", "0"},
		`[length(range(0)), length(range(10000))]`:       {"0", "10000"},
		`range(1, 5, -1)`:                                nil,
		`[length(range(1000001))]`:                       nil,
		`[length(setproduct(range(1001), range(1000)))]`: nil,
		`[length(setproduct(range(1001), range(1000), [])), length(setproduct(range(10), range(10)))]`: {"0", "100"},
		`[for pair in setproduct(["a", "b"], ["c"]) : join("", pair)]`:                                 {"ac", "bc"},
		`[basename("a/b.c"), dirname("a/b.c")]`:                                                        {"b.c", "a"},
		`[yamldecode("a: 1").a, jsondecode("{\"a\":2}").a]`:                                            {"1", "2"},
		`[startswith("ab", "a"), endswith("ab", "a"), strcontains("abc", "b")]`:                        {"true", "false", "true"},
		`[md5("x"), sha1("x")]`: {"9dd4e461268c8034f5c8564e155c67a6", "11f6ad8ec52a2984abaafd7c3b516503785c2072"},
	} {
		got, diags := evaluate(expr)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(expr, diff, diags)
		}
	}
}
