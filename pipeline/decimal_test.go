package pipeline

import (
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseNumber(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{"80", "80"},
		{"+80.50", "80.5"},
		{"-.5", "-0.5"},
		{"5.", "5"},
		{"007", "7"},
		{"-0.0", "0"},
		{"1e3", "1000"},
		{"1.25E-2", "0.0125"},
		{"9007199254740993", "9007199254740993"},
		{"0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"},
		{"1e1000", "1e1000"},
		{"-12e-999", "-1.2e-998"},
		{"1e1001", ""},
		{"1e999999999999999999999", ""},
		{"1" + strings.Repeat("1", 150), ""},
		{"", ""}, {".", ""}, {"-", ""}, {"e5", ""}, {"1e", ""}, {"1_000", ""}, {"0x10", ""}, {"inf", ""}, {"NaN", ""}, {"1,5", ""}, {"--1", ""}, {"1 2", ""},
	} {
		got, ok := ParseNumber(test.text)
		if string(got) != test.want || ok != (test.want != "") {
			t.Errorf("%q: got %q, %v; want %q", test.text, got, ok, test.want)
		}
	}
}

// TestNumbersLoseNothing holds that a number keeps its value, and that equal numbers
// are the same text.
func TestNumbersLoseNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[-+]?[0-9]{1,30}(\.[0-9]{0,30})?([eE][-+]?[0-9]{1,2})?`).Draw(t, "text")
		n, ok := ParseNumber(text)
		if !ok {
			t.Fatalf("%q is refused", text)
		}
		want, _ := new(big.Rat).SetString(text)
		if got, ok := Rat(n); !ok || got.Cmp(want) != 0 {
			t.Fatalf("%q became %q", text, n)
		}
		if again, _ := ParseNumber(want.FloatString(200)); again != n {
			t.Fatalf("%q is %q, and written out %q", text, n, again)
		}
	})
}

// TestDecimalText: a long number is written with an exponent.
func TestDecimalText(t *testing.T) {
	t.Parallel()
	ones := func(n int) string { return strings.Repeat("1", n) }
	for _, test := range []struct {
		digits string
		e      int
		want   string
	}{
		{ones(maxPlain), 0, ones(maxPlain)},
		{ones(maxPlain + 1), 0, "1." + ones(maxPlain) + "e" + strconv.Itoa(maxPlain)},
		{"1", maxPlain - 1, "1" + strings.Repeat("0", maxPlain-1)},
		{"1", maxPlain, "1e" + strconv.Itoa(maxPlain)},
		{"12", -1, "1.2"},
		{"12", -2, "0.12"},
		{"1", -maxPlain, "0." + strings.Repeat("0", maxPlain-1) + "1"},
		{"1", -maxPlain - 1, "1e-" + strconv.Itoa(maxPlain+1)},
	} {
		if got := decimalText(test.digits, test.e); got != test.want {
			t.Errorf("%s × 10^%d: %s, want %s", test.digits, test.e, got, test.want)
		}
	}
}
