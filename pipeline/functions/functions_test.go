package functions

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// evaluate evaluates an expression as a list of strings, nil if that is impossible.
func evaluate(expr string) ([]string, hcl.Diagnostics) {
	value, diags := evaluateValue(expr)
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

// evaluateValue evaluates an expression. The variable later has a value that is not known
// yet, and the variable nothing is a tuple of one string that is null.
func evaluateValue(expr string) (cty.Value, hcl.Diagnostics) {
	e, diags := hclsyntax.ParseExpression([]byte(expr), "f.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	return e.Value(&hcl.EvalContext{Functions: Standard(), Variables: map[string]cty.Value{
		"later":   cty.DynamicVal,
		"nothing": cty.NullVal(cty.Tuple([]cty.Type{cty.String})),
	}})
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
		`[length(range(0)), length(range(10000))]`:            {"0", "10000"},
		`range(1, 5, -1)`:                                     nil,
		`[length(range(1000001))]`:                            nil,
		`[length(setproduct(range(1001), range(1000)))]`:      nil,
		`[replace("abc", "bc", "x"), replace("/", "/", "x")]`: {"ax", "x"},
		`[length(setproduct(range(1001), range(1000), [])), length(setproduct(range(10), range(10)))]`:                       {"0", "100"},
		`[for pair in setproduct(["a", "b"], ["c"]) : join("", pair)]`:                                                       {"ac", "bc"},
		`[basename("a/b.c"), dirname("a/b.c")]`:                                                                              {"b.c", "a"},
		`[yamldecode("a: 1").a, jsondecode("{\"a\":2}").a]`:                                                                  {"1", "2"},
		`[startswith("ab", "a"), endswith("ab", "a"), strcontains("abc", "b")]`:                                              {"true", "false", "true"},
		`[tomap({ a = [1], b = ["x"] }).a[0], tomap({ a = 1, b = "x" }).a, tolist([1, "x"])[0], tolist([[1], ["x"]])[0][0]]`: {"1", "1", "1", "1"},
		`[tomap(tomap({ a = "1" })).a, tolist(tolist(["2"]))[0]]`:                                                            {"1", "2"},
		`[tostring(one([]) == null), one(toset(["x"])), one([1])]`:                                                           {"true", "x", "1"},
		`[length(range(3, 3)), length(range(3, 3, -1)), length(range(3, 1, -1)), length(range(-2))]`:                         {"0", "0", "2", "2"},
		`[replace("a/b", "/", "-"), replace("a/b", "/b", "")]`:                                                               {"a-b", "a"},
		`[md5("x"), sha1("x")]`: {"9dd4e461268c8034f5c8564e155c67a6", "11f6ad8ec52a2984abaafd7c3b516503785c2072"},
	} {
		got, diags := evaluate(expr)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(expr, diff, diags)
		}
	}
}

// TestNotKnown: a function says nothing of a value that is not known yet, except what holds
// for each value that it may get.
func TestNotKnown(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]cty.Value{
		`alltrue([true, tobool(later)])`:  cty.UnknownVal(cty.Bool),
		`alltrue([tobool(later), false])`: cty.False,
		`anytrue([false, tobool(later)])`: cty.UnknownVal(cty.Bool),
		`anytrue([tobool(later), true])`:  cty.True,
		`sum([1, tonumber(later)])`:       cty.UnknownVal(cty.Number),
		`length(later)`:                   cty.UnknownVal(cty.Number),
		`length([later, later])`:          cty.NumberIntVal(2),
		`yamldecode(later)`:               cty.DynamicVal,
		`tolist(nothing)`:                 cty.NullVal(cty.List(cty.String)),
	} {
		if got, diags := evaluateValue(expr); diags.HasErrors() || !got.RawEquals(want) {
			t.Errorf("%s is %#v, want %#v: %s", expr, got, want, diags)
		}
	}
}

// TestMistakes: an argument that a function can't take is refused with what it takes.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		`one("x")`:               "a list, a set or a tuple with at most one element is needed",
		`one([1, 2])`:            "a tuple with at most one element is needed",
		`one(toset(["a", "b"]))`: "there is more than one element",
		`length(1)`:              "a string, a collection or an object is needed",
		`alltrue([true, null])`:  "an element is neither true nor false",
		`sum(["a"])`:             "a list of numbers is needed",
		`sum([1, null])`:         "an element is null",
		`base64decode("!")`:      "this is not valid base64",
		`base64decode("/w==")`:   "UTF-8",
		`range()`:                "range takes one to three numbers, not 0",
		`range(1, 2, 3, 4)`:      "range takes one to three numbers, not 4",
		`range(1, 5, 0)`:         "the step must lead from the start to the limit",
		`range(5, 1, 1)`:         "the step must lead from the start to the limit",
		`tomap(["a"])`:           "cannot convert",
		`tolist({ a = 1 })`:      "cannot convert",
	} {
		if _, diags := evaluateValue(expr); !strings.Contains(diags.Error(), want) {
			t.Errorf("%s: %s, want %q", expr, diags, want)
		}
	}
}
