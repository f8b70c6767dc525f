package mask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// urlForms escapes a value for the query or path of a URL, as Go, JavaScript and RFC 3986
// do.
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

// lowerEscapes converts %2F to %2f.
func lowerEscapes(text string) string {
	lower := []byte(text)
	for i := 0; i+2 < len(lower); i++ {
		if lower[i] == '%' {
			copy(lower[i+1:], bytes.ToLower(lower[i+1:i+3]))
		}
	}
	return string(lower)
}

// jsonForms escapes a value for JSON, as Go, JavaScript, Python and PHP do, and
// for a quoted string of Go.
func jsonForms(value string) []string {
	plain, html := jsonEscape(value, false), jsonEscape(value, true)
	quoted := strconv.Quote(value)
	ascii := strconv.QuoteToASCII(value)
	all := []string{plain, html, jsonASCII(plain), jsonASCII(html), quoted[1 : len(quoted)-1], ascii[1 : len(ascii)-1]}
	for _, form := range slices.Clone(all) {
		all = append(all, upperUnicode(form))
	}
	for _, form := range slices.Clone(all) {
		all = append(all, strings.ReplaceAll(form, "/", `\/`))
	}
	return all
}

// upperUnicode converts \u00fc to \u00FC.
func upperUnicode(text string) string {
	upper := []byte(text)
	for i := 0; i+1 < len(upper); i++ {
		if upper[i] != '\\' {
			continue
		}
		if i++; upper[i] == 'u' && i+4 < len(upper) {
			copy(upper[i+1:], bytes.ToUpper(upper[i+1:i+5]))
		}
	}
	return string(upper)
}

func jsonEscape(value string, forHTML bool) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(forHTML)
	// Encoding a string into a buffer does not fail.
	_ = encoder.Encode(value)
	return strings.TrimSuffix(strings.TrimPrefix(out.String(), `"`), "\"\n")
}

// jsonASCII escapes all characters outside of ASCII.
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

// htmlForms escapes a value for HTML, as Go, Python, PHP and JavaScript's
// libraries do.
func htmlForms(value string) []string {
	decimal := html.EscapeString(value)
	var all []string
	for _, double := range []string{"&#34;", "&quot;", `"`} {
		for _, single := range []string{"&#39;", "&#x27;", "&#039;", "&apos;", "'"} {
			all = append(all, strings.NewReplacer("&#34;", double, "&#39;", single).Replace(decimal))
		}
	}
	return all
}

// shellForms quotes a value for a shell, without the surrounding quotes: in single quotes,
// as a trace (set -x) and quoting functions do; with the escapes of $'…'; in double quotes;
// and with a backslash before each special character, as printf %q does.
func shellForms(value string) []string {
	var bare strings.Builder
	for i := range len(value) {
		if strings.IndexByte("\t !\"#$&'()*,;<>?[\\]^`{|}~", value[i]) >= 0 {
			bare.WriteByte('\\')
		}
		bare.WriteByte(value[i])
	}
	return []string{
		strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(value),
		strings.ReplaceAll(value, "'", `'\''`),
		strings.ReplaceAll(value, "'", `'"'"'`),
		strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(value),
		bare.String(),
	}
}
