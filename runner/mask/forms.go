package mask

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

const (
	// minLine is the length in bytes from which a line of a value is masked separately.
	minLine = 8
	// minPattern is the minimum length of a form in bytes. Shorter forms would match by
	// chance.
	minPattern = 4
	// maxWrapped is the maximum length in bytes of a value that is searched in wrapped
	// Base64 of a longer text, because the patterns for that are some hundred times as
	// long. The lines of a key are found separately.
	maxWrapped = 1 << 10
)

// formsOf returns the patterns for a value: the value and, if it has several lines, each
// line of at least minLine bytes; with and without surrounding white space; each
//
//   - unchanged,
//   - in Base64, in the standard and URL alphabets, padded or not, also within a longer
//     text, and in lines of 64 and 76 characters,
//   - in hexadecimal, in lower and upper case,
//   - escaped as in forms_escaped.go: for URLs, JSON, HTML and shells, and as a quoted
//     string of Go.
//
// To add a form, add it here, and an example to encodings_test.go.
func formsOf(value string) []string {
	parts := []string{value, strings.TrimSpace(value)}
	if lines := strings.FieldsFunc(value, isLineEnd); len(lines) > 1 {
		parts = append(parts, strings.Join(lines, "\n"), strings.Join(lines, "\r\n"))
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= minLine {
				parts = append(parts, line)
			}
		}
	}
	parts = append(parts, string([]rune(value))) // invalid UTF-8, as most programs print it
	slices.Sort(parts)
	var all []string
	for _, part := range slices.Compact(parts) {
		all = append(all, part)
		all = append(all, base64Forms(part)...)
		digits := hex.EncodeToString([]byte(part))
		all = append(all, digits, strings.ToUpper(digits))
		all = append(all, urlForms(part)...)
		all = append(all, jsonForms(part)...)
		all = append(all, htmlForms(part)...)
		all = append(all, shellForms(part)...)
	}
	return slices.DeleteFunc(all, func(form string) bool { return len(form) < minPattern })
}

func isLineEnd(r rune) bool { return r == '\n' || r == '\r' }

// base64Forms returns the complete encodings. It also returns, for each of the three
// positions within groups of three bytes of a longer text, the characters that do not
// depend on the surrounding bytes.
func base64Forms(value string) []string {
	var all []string
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		padded := encoding.EncodeToString([]byte(value))
		all = append(all, padded, strings.TrimRight(padded, "="))
		for before := range 3 {
			whole := encoding.WithPadding(base64.NoPadding).EncodeToString([]byte(strings.Repeat("\x00", before) + value))
			shared := (before*8 + 5) / 6 // characters that contain bits of the preceding text
			own := (before + len(value)) * 8 / 6
			all = append(all, whole[shared:own], whole[shared:])
			if encoding == base64.StdEncoding && len(value) <= maxWrapped {
				all = append(all, brokenWithin(whole[:own], shared)...)
			}
		}
		for _, width := range []int{64, 76} {
			all = append(all, wrapped(padded, width)...)
		}
	}
	return all
}

// brokenWithin returns a text from an offset on, as it appears in the lines of a longer
// Base64 text: with a line end after any of its groups of four characters, and then after
// each line. If less than a group would remain on the first line, the pattern begins with
// the second line: otherwise every line that ends in such a character would be held back.
func brokenWithin(text string, from int) []string {
	first := (from + 3) / 4 * 4
	if first >= len(text) {
		return nil
	}
	all := []string{text[first:]}
	for _, width := range []int{64, 76} {
		for at := first + 4; at < len(text) && at <= first+width; at += 4 {
			after := ""
			for line := range slices.Chunk([]byte(text[at:]), width) {
				after += "\n" + string(line)
			}
			all = append(all, text[from:at]+after)
			if at == first+width {
				all = append(all, text[first:at]+after)
			}
		}
	}
	return all
}

// wrapped returns the lines of a text that is broken after width characters, and all lines
// together.
func wrapped(text string, width int) []string {
	if len(text) <= width {
		return nil
	}
	var lines []string
	for line := range slices.Chunk([]byte(text), width) {
		lines = append(lines, string(line))
	}
	together := []string{strings.Join(lines, "\n"), strings.Join(lines, "\r\n")}
	return append(slices.DeleteFunc(lines, func(line string) bool { return len(line) < minLine }), together...)
}
