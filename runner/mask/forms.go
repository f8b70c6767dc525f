package mask

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

const (
	// minLine is the length from which a line of a value is masked by itself.
	minLine = 8
	// minPattern is the length below which a form would match by chance.
	minPattern = 4
	// maxWrapped is the length in bytes up to which a value is found in Base64
	// lines of something longer, since the patterns for that are some hundred
	// times as long. Of a key the lines are found.
	maxWrapped = 1 << 10
)

// forms returns what to look for to find a value: the value and, if it has
// several lines, each line that is not very short; with and without surrounding
// white space; each
//
//   - as it is,
//   - in Base64, standard and URL alphabet, padded or not, also as a part of
//     something longer, and in lines of 64 and 76 characters,
//   - in hexadecimal, in capitals or not,
//   - escaped as forms_escaped.go lists: for URLs, JSON, HTML and shells, and as
//     a quoted string of Go.
func forms(value string) []string {
	parts := []string{value, strings.TrimSpace(value)}
	if lines := strings.FieldsFunc(value, isLineEnd); len(lines) > 1 {
		parts = append(parts, strings.Join(lines, "\n"), strings.Join(lines, "\r\n"))
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= minLine {
				parts = append(parts, line)
			}
		}
	}
	parts = append(parts, string([]rune(value))) // as programs show what is not UTF-8
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

// base64Forms returns the whole encodings, and for each of the three places that
// a value can have within the groups of three bytes of something longer, the
// characters that do not depend on what surrounds it.
func base64Forms(value string) []string {
	var all []string
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		padded := encoding.EncodeToString([]byte(value))
		all = append(all, padded, strings.TrimRight(padded, "="))
		for before := range 3 {
			whole := encoding.WithPadding(base64.NoPadding).EncodeToString([]byte(strings.Repeat("\x00", before) + value))
			shared := (before*8 + 5) / 6 // characters with bits of what is before
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

// brokenWithin returns a text from an offset on as it stands in the lines that a
// tool makes of something longer: with a line end after any of its groups of
// four characters, and then after each line. Where that leaves less than a group
// on the first line, only what follows is found: a line that happens to end in a
// character that a value may begin with is not to be held back for it.
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

// wrapped returns the lines of a text that a tool breaks after width characters,
// and these together.
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
