package ledger

import (
	"encoding/json"
	"testing"
)

// TestUSD: amounts are read exactly to a billionth, and written as they can be read again.
func TestUSD(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		usd   USD
		shown string
	}{
		"0": {0, "0"}, "3": {3 * dollar, "3"}, "0.1": {100_000_000, "0.10"}, "0.123456789": {123_456_789, "0.123456789"},
		"1.0000000005": {dollar + 1, "1.000000001"}, "1.0000000004": {dollar, "1"}, "2e-1": {200_000_000, "0.20"}, "12.5": {12_500_000_000, "12.50"},
	} {
		got, err := ParseUSD(text)
		if err != nil || got != want.usd || got.String() != want.shown {
			t.Errorf("%s is %d, shown as %s, %v", text, got, got, err)
		}
		data, err := json.Marshal(Spent{CostUSD: got})
		if err != nil {
			t.Fatal(err)
		}
		var back Spent
		if err := json.Unmarshal(data, &back); err != nil || back.CostUSD != got {
			t.Errorf("%s is read as %d, %v", data, back.CostUSD, err)
		}
	}
	var u USD
	if err := json.Unmarshal([]byte("-0.5"), &u); err != nil || u != -dollar/2 || u.String() != "-0.50" {
		t.Errorf("a negative amount is %s, %v", u, err)
	}
	for _, text := range []string{"", "x", "-1", "1/2", "0x10", "1e99", "1e-1000", "1_000", "99999999999", "NaN", "Inf"} {
		if got, err := ParseUSD(text); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}

// TestSpentBy: the metrics that count what work costs are amounts; others are none.
func TestSpentBy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		value any
		want  Spent
		fails bool
	}{
		{name: "cost_usd", value: json.Number("0.5"), want: Spent{CostUSD: dollar / 2}},
		{name: "tokens_in", value: json.Number("12"), want: Spent{TokensIn: 12}},
		{name: "tokens_out", value: json.Number("1e3"), want: Spent{TokensOut: 1000}},
		{name: "coverage", value: json.Number("-1")},
		{name: "cost_usd", value: "much", fails: true},
		{name: "cost_usd", value: true, fails: true},
		{name: "cost_usd", value: json.Number("1000001"), fails: true},
		{name: "tokens_in", value: json.Number("0.5"), fails: true},
		{name: "tokens_out", value: json.Number("2000000000000"), fails: true},
	} {
		got, err := SpentBy(Report{Type: TypeMetric, Name: c.name, Value: c.value})
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%s=%v: %+v, %v", c.name, c.value, got, err)
		}
	}
	if got, err := SpentBy(Report{Type: TypeOutput, Name: "cost_usd", Value: "1"}); !got.IsZero() || err != nil {
		t.Errorf("an output: %+v, %v", got, err)
	}
}

// TestSpentIsAddedUp: sums stay within bounds, and a difference is what came since.
func TestSpentIsAddedUp(t *testing.T) {
	t.Parallel()
	s := Spent{CostUSD: dollar, TokensIn: 1, TokensOut: 2, WorkMS: 3}
	before := s
	s.Add(Spent{CostUSD: dollar / 4, TokensIn: 10, WorkMS: 5})
	if want := (Spent{CostUSD: dollar / 4, TokensIn: 10, WorkMS: 5}); s.Sub(before) != want || s.Tokens() != 13 {
		t.Errorf("the sum is %+v", s)
	}
	if got := s.Reported().String(); got != "$1.25, 11 tokens in, 2 out" {
		t.Errorf("it is shown as %q", got)
	}
	for range 3 {
		s.Add(Spent{TokensIn: maxSum - 1})
	}
	if s.TokensIn != maxSum {
		t.Errorf("the sum is %d", s.TokensIn)
	}
}
