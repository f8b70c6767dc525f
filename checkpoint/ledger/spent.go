package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// The metrics that count what work costs. Each report of one adds to what was spent; other
// metrics are replaced.
const (
	MetricCostUSD   = "cost_usd"
	MetricTokensIn  = "tokens_in"
	MetricTokensOut = "tokens_out"
)

// USD is an amount of money in billionths of a US dollar. In JSON it is a decimal number of
// dollars.
type USD int64

const (
	dollar  = 1_000_000_000
	maxCost = 1_000_000 * dollar        // more than one report can say
	maxSpan = 1_000_000_000_000         // more tokens than one report can say
	maxSum  = 9_000_000_000_000_000_000 // what a sum stays below
)

// Spent is what work has cost.
type Spent struct {
	CostUSD   USD   `json:"cost_usd,omitempty"`
	TokensIn  int64 `json:"tokens_in,omitempty"`
	TokensOut int64 `json:"tokens_out,omitempty"`
	// WorkMS is how long attempts ran, including those that failed, added up over those
	// that ran side by side.
	WorkMS int64 `json:"work_ms,omitempty"`
}

// Add adds what other work has cost.
func (s *Spent) Add(o Spent) {
	s.CostUSD = USD(sum(int64(s.CostUSD), int64(o.CostUSD)))
	s.TokensIn, s.TokensOut, s.WorkMS = sum(s.TokensIn, o.TokensIn), sum(s.TokensOut, o.TokensOut), sum(s.WorkMS, o.WorkMS)
}

// sum adds two amounts that are not negative, up to a limit.
func sum(a, b int64) int64 {
	if a > maxSum-b {
		return maxSum
	}
	return a + b
}

// Sub returns what was spent since an earlier sum.
func (s Spent) Sub(o Spent) Spent {
	return Spent{CostUSD: s.CostUSD - o.CostUSD, TokensIn: s.TokensIn - o.TokensIn, TokensOut: s.TokensOut - o.TokensOut, WorkMS: s.WorkMS - o.WorkMS}
}

// IsZero reports whether nothing was spent.
func (s Spent) IsZero() bool { return s == Spent{} }

// Tokens returns the tokens in both directions.
func (s Spent) Tokens() int64 { return s.TokensIn + s.TokensOut }

// Reported returns what was spent without the time of the work.
func (s Spent) Reported() Spent {
	s.WorkMS = 0
	return s
}

// String describes what was reported as spent, "" if that is nothing.
func (s Spent) String() string {
	var parts []string
	if s.CostUSD != 0 {
		parts = append(parts, "$"+s.CostUSD.String())
	}
	if s.TokensIn != 0 || s.TokensOut != 0 {
		parts = append(parts, fmt.Sprintf("%d tokens in, %d out", s.TokensIn, s.TokensOut))
	}
	return strings.Join(parts, ", ")
}

// Metric returns the value of a metric that counts what was spent, and false for any other
// metric.
func (s Spent) Metric(name string) (json.Number, bool) {
	switch name {
	case MetricCostUSD:
		return json.Number(s.CostUSD.String()), true
	case MetricTokensIn:
		return json.Number(fmt.Sprint(s.TokensIn)), true
	case MetricTokensOut:
		return json.Number(fmt.Sprint(s.TokensOut)), true
	}
	return "", false
}

// CountsSpending reports whether a metric counts what work costs.
func CountsSpending(metric string) bool {
	_, counts := Spent{}.Metric(metric)
	return counts
}

// SpentBy returns what a report of a metric says was spent. For any other report it is zero.
func SpentBy(r Report) (Spent, error) {
	if r.Type != TypeMetric || !CountsSpending(r.Name) {
		return Spent{}, nil
	}
	n, isNumber := r.Value.(json.Number)
	if !isNumber {
		return Spent{}, fmt.Errorf("%s must be a number: it is added to what was spent", r.Name)
	}
	var s Spent
	var err error
	switch r.Name {
	case MetricCostUSD:
		if s.CostUSD, err = ParseUSD(n.String()); s.CostUSD > maxCost {
			err = errors.New("is too large")
		}
	case MetricTokensIn:
		s.TokensIn, err = parseTokens(n.String())
	case MetricTokensOut:
		s.TokensOut, err = parseTokens(n.String())
	}
	if err != nil {
		return Spent{}, fmt.Errorf("%s %w", r.Name, err)
	}
	return s, nil
}

// ParseUSD reads a decimal number of dollars, which is not negative. It rounds to billionths.
func ParseUSD(text string) (USD, error) {
	rat, err := parseAmount(text)
	if err != nil {
		return 0, err
	}
	rat.Mul(rat, big.NewRat(dollar, 1))
	half := new(big.Int).Add(new(big.Int).Mul(rat.Num(), big.NewInt(2)), rat.Denom())
	n := half.Quo(half, new(big.Int).Mul(rat.Denom(), big.NewInt(2)))
	if !n.IsInt64() || n.Int64() > maxSum {
		return 0, errors.New("is too large")
	}
	return USD(n.Int64()), nil
}

func parseTokens(text string) (int64, error) {
	rat, err := parseAmount(text)
	switch {
	case err != nil:
		return 0, err
	case !rat.IsInt():
		return 0, errors.New("must be a whole number")
	case !rat.Num().IsInt64() || rat.Num().Int64() > maxSpan:
		return 0, errors.New("is too large")
	}
	return rat.Num().Int64(), nil
}

// parseAmount reads a number that is not negative. Its length bounds the cost.
func parseAmount(text string) (*big.Rat, error) {
	const longest = 60
	if len(text) > longest {
		return nil, errors.New("is too long a number")
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 && len(text)-i > len("e-99") {
		return nil, errors.New("is too large or too small a number")
	}
	rat, ok := new(big.Rat).SetString(text)
	switch {
	case !ok || strings.ContainsAny(text, "/pPxX_"):
		return nil, errors.New("must be a decimal number")
	case rat.Sign() < 0:
		return nil, errors.New("must not be negative")
	}
	return rat, nil
}

// String returns the dollars as a decimal number, with at least two digits after the point
// unless they are whole.
func (u USD) String() string {
	sign, n := "", int64(u)
	if n < 0 {
		sign, n = "-", -n
	}
	whole, rest := n/dollar, n%dollar
	if rest == 0 {
		return fmt.Sprintf("%s%d", sign, whole)
	}
	digits := strings.TrimRight(fmt.Sprintf("%09d", rest), "0")
	if len(digits) == 1 {
		digits += "0"
	}
	return fmt.Sprintf("%s%d.%s", sign, whole, digits)
}

// MarshalJSON implements json.Marshaler.
func (u USD) MarshalJSON() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalJSON implements json.Unmarshaler. The sums of a session may be larger than what a
// report may say.
func (u *USD) UnmarshalJSON(data []byte) error {
	text := string(bytes.TrimPrefix(data, []byte("-")))
	rat, err := parseAmount(text)
	if err != nil {
		return fmt.Errorf("read an amount of dollars: it %w", err)
	}
	n := rat.Mul(rat, big.NewRat(dollar, 1))
	if !n.IsInt() || !n.Num().IsInt64() {
		return errors.New("read an amount of dollars: it is too large or too exact")
	}
	*u = USD(n.Num().Int64())
	if len(text) < len(data) {
		*u = -*u
	}
	return nil
}
