package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

const (
	// minLine is the length from which a line of a value is masked by itself.
	minLine = 8
	// minPattern is the length below which a form would match by chance.
	minPattern = 4
)

// forms returns what to look for to find a value: the value and, if it has
// several lines, each line that is not very short; with and without surrounding
// white space; each
//
//   - as it is,
//   - in Base64, standard and URL alphabet, padded or not, also as a part of
//     something longer, and in lines of 64 and 76 characters,
//   - escaped for a URL's query or path, as Go, JavaScript and RFC 3986 do,
//   - escaped for JSON, as Go, JavaScript, Python and PHP do, and as a quoted
//     string of Go.
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
	slices.Sort(parts)
	var all []string
	for _, part := range slices.Compact(parts) {
		all = append(all, part)
		all = append(all, base64Forms(part)...)
		all = append(all, urlForms(part)...)
		all = append(all, jsonForms(part)...)
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
		}
		for _, width := range []int{64, 76} {
			all = append(all, wrapped(padded, width)...)
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

func urlForms(value string) []string {
	query := url.QueryEscape(value)
	strict := strings.ReplaceAll(query, "+", "%20")
	script := strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(strict)
	var all []string
	for _, form := range []string{query, strict, script, url.PathEscape(value), (&url.URL{Path: value}).EscapedPath()} {
		all = append(all, form, lowerEscapes(form))
	}
	return all
}

// lowerEscapes turns %2F into %2f.
func lowerEscapes(text string) string {
	lower := []byte(text)
	for i := 0; i+2 < len(lower); i++ {
		if lower[i] == '%' {
			copy(lower[i+1:], bytes.ToLower(lower[i+1:i+3]))
		}
	}
	return string(lower)
}

func jsonForms(value string) []string {
	plain, html := jsonEscape(value, false), jsonEscape(value, true)
	quoted := strconv.Quote(value)
	ascii := strconv.QuoteToASCII(value)
	all := []string{plain, html, jsonASCII(plain), jsonASCII(html), quoted[1 : len(quoted)-1], ascii[1 : len(ascii)-1]}
	for _, form := range slices.Clone(all) {
		all = append(all, strings.ReplaceAll(form, "/", `\/`))
	}
	return all
}

func jsonEscape(value string, html bool) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(html)
	// A string can always be encoded, into a buffer too.
	_ = encoder.Encode(value)
	return strings.TrimSuffix(strings.TrimPrefix(out.String(), `"`), "\"\n")
}

// jsonASCII escapes what is not ASCII.
func jsonASCII(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r < 0x80 {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String()
}
