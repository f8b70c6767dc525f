package words_test

import (
	"slices"
	"testing"

	"prdrunner/cmd/runner/words"
)

func TestCompareNatural(t *testing.T) {
	t.Parallel()
	for _, want := range [][]string{
		{`service["1"]`, `service["2"]`, `service["10"]`},
		{"", "a", "a1", "a2", "a10", "a10b", "b"},
		{"hook.failed.2", "hook.failed.11"},
		{"v1.9.0", "v1.10.0"},
		{"a01", "a1", "a02"},
		{"9", "99999999999999999999999998", "99999999999999999999999999"},
		{"1", "a", "é"},
	} {
		got := slices.Clone(want)
		slices.Reverse(got)
		slices.SortFunc(got, words.CompareNatural)
		if !slices.Equal(got, want) {
			t.Errorf("sorted %q, want %q", got, want)
		}
	}
}
