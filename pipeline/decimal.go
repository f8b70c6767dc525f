package pipeline

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

const (
	// maxDigits is the largest number of digits of a metric. HCL represents numbers of
	// this length exactly.
	maxDigits = 150
	// maxExponent is the largest exponent of a metric. It bounds the cost of arithmetic.
	maxExponent = 1000
	// maxPlain is the largest length of a number that is written without an exponent.
	maxPlain = 200
)

// ParseNumber reads a decimal number, such as 80, +1.50 or 1e-3, with at most 150 digits
// and an exponent of at most 1000. The number is exact. Equal numbers give the same
// text. It is in plain digits, except for very long numbers.
func ParseNumber(text string) (json.Number, bool) { return parseDecimal(text, maxDigits) }

// Rat returns a number for arithmetic, or false if ParseNumber would refuse it.
func Rat(n json.Number) (*big.Rat, bool) {
	canonical, ok := parseDecimal(string(n), 3*maxDigits)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetString(string(canonical))
}

func parseDecimal(text string, limit int) (json.Number, bool) {
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(text), "e")
	e := 0
	if hasExponent {
		var err error
		if e, err = strconv.Atoi(exponent); err != nil || e > maxExponent || e < -maxExponent {
			return "", false
		}
	}
	sign := ""
	if rest, negative := strings.CutPrefix(mantissa, "-"); negative {
		sign, mantissa = "-", rest
	} else {
		mantissa = strings.TrimPrefix(mantissa, "+")
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "", false
	}
	e -= len(fraction)
	digits = strings.TrimLeft(digits, "0")
	short := strings.TrimRight(digits, "0")
	e += len(digits) - len(short)
	switch {
	case short == "":
		return "0", true
	case len(short) > limit:
		return "", false
	}
	return json.Number(sign + decimalText(short, e)), true
}

// decimalText writes the number digits × 10^e; the digits neither begin nor end with 0.
func decimalText(digits string, e int) string {
	switch point := len(digits) + e; {
	case e >= 0 && point <= maxPlain:
		return digits + strings.Repeat("0", e)
	case e < 0 && point > 0:
		return digits[:point] + "." + digits[point:]
	case e < 0 && len(digits)-point <= maxPlain:
		return "0." + strings.Repeat("0", -point) + digits
	default:
		text := digits[:1]
		if len(digits) > 1 {
			text += "." + digits[1:]
		}
		return text + "e" + strconv.Itoa(point-1)
	}
}

// decimalOf returns a number of the file, exactly as written.
func decimalOf(value cty.Value) (json.Number, bool) {
	return parseDecimal(value.AsBigFloat().Text('g', -1), 3*maxDigits)
}

// numberInDigest returns the text with which a number counts in a digest: the text of
// the equal floating-point number, if there is one, else the exact number.
func numberInDigest(n json.Number) (text string, is float64, exact bool) {
	f, err := strconv.ParseFloat(string(n), 64)
	if short, ok := parseDecimal(strconv.FormatFloat(f, 'g', -1, 64), maxDigits); err == nil && ok && short == n {
		return strconv.FormatFloat(f, 'g', -1, 64), f, true
	}
	return string(n), 0, false
}
