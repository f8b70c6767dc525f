package view_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/runner/view"
)

// TestNaturalOrder: people find service["2"] before service["10"].
func TestNaturalOrder(t *testing.T) {
	t.Parallel()
	ordered := []string{"", "a", "a1", "a2", "a2b", "a10", "a10b2", "a10b10", "a184467440737095516160", "a184467440737095516161", "b"}
	for i, a := range ordered {
		for j, b := range ordered {
			if got, want := view.CompareNatural(a, b), i-j; got*want < 0 || (got == 0) != (want == 0) {
				t.Errorf("%q and %q: %d", a, b, got)
			}
		}
	}
	for _, want := range [][]string{
		{`service["1"]`, `service["2"]`, `service["10"]`},
		{"hook.failed.2", "hook.failed.11"},
		{"v1.9.0", "v1.10.0"},
		{"a01", "a1", "a02"},
		{"1", "a", "é"},
	} {
		got := slices.Clone(want)
		slices.Reverse(got)
		if slices.SortFunc(got, view.CompareNatural); !slices.Equal(got, want) {
			t.Errorf("sorted %q, want %q", got, want)
		}
	}
	if got := view.CompareNatural("a1", "a01"); got == 0 {
		t.Error("a1 and a01 are the same name")
	}
	for in, want := range map[string]string{`service["a"]`: "service", `service["a]\"["]`: "service", "service": "service", `lint (service["a"])`: `lint (service["a"])`} {
		if got := view.Block(in); got != want {
			t.Errorf("the block of %s is %s, want %s", in, got, want)
		}
	}
	got := view.InNaturalOrder([]string{"z", `s["10"]`, `s["9"]`, "a", `s["2"]`, `s["1"]`}, func(s string) string { return s })
	if want := []string{"z", `s["9"]`, `s["10"]`, "a", `s["1"]`, `s["2"]`}; !slices.Equal(got, want) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
}
