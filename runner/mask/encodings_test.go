package mask

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// encodings are what programs make of a value, for the tests that want all.
func encodings() map[string]func(string) string {
	return map[string]func(string) string{
		"raw":                 func(s string) string { return s },
		"query":               url.QueryEscape,
		"path":                url.PathEscape,
		"Base64":              func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"Base64 unpadded":     func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
		"Base64 of URLs":      func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
		"Base64 of URLs, raw": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"hex":                 func(s string) string { return hex.EncodeToString([]byte(s)) },
		"hex in capitals":     func(s string) string { return fmt.Sprintf("%X", s) },
		"JSON":                func(s string) string { return jsonEscape(s, true) },
		"JSON, no HTML":       func(s string) string { return jsonEscape(s, false) },
		"HTML":                html.EscapeString,
		"Go":                  func(s string) string { q := strconv.Quote(s); return q[1 : len(q)-1] },
		"Go, ASCII":           func(s string) string { q := strconv.QuoteToASCII(s); return q[1 : len(q)-1] },
		"shell":               func(s string) string { return strings.ReplaceAll(s, "'", `'\''`) },
	}
}

// What other programs print for a value was taken from them.
func TestMasksWhatOtherProgramsPrint(t *testing.T) {
	t.Parallel()
	const value = `it's "a<b>&c" $1/ü`
	for name, printed := range map[string]string{
		"python html.escape":     `it&#x27;s &quot;a&lt;b&gt;&amp;c&quot; $1/ü`,
		"php htmlspecialchars":   `it&#039;s &quot;a&lt;b&gt;&amp;c&quot; $1/ü`,
		"go html.EscapeString":   `it&#39;s &#34;a&lt;b&gt;&amp;c&#34; $1/ü`,
		"text of an element":     `it's "a&lt;b&gt;&amp;c" $1/ü`,
		"python json.dumps":      `it's \"a<b>&c\" $1/\u00fc`,
		"go json.Marshal":        `it's \"a\u003cb\u003e\u0026c\" $1/ü`,
		"System.Text.Json":       `it's \"a\u003Cb\u003E\u0026c\" $1/\u00FC`,
		"php json_encode":        `it's \"a<b>&c\" $1\/\u00fc`,
		"python shlex.quote":     `it'"'"'s "a<b>&c" $1/ü`,
		"bash set -x":            `it'\''s "a<b>&c" $1/ü`,
		"bash printf %q":         `it\'s\ \"a\<b\>\&c\"\ \$1/ü`,
		"in double quotes":       "it's \\\"a<b>&c\\\" \\$1/ü",
		"bash $'…'":              `it\'s "a<b>&c" $1/ü`,
		"go %q":                  `it's \"a<b>&c\" $1/ü`,
		"go %+q":                 `it's \"a<b>&c\" $1/\u00fc`,
		"encodeURIComponent":     `it's%20%22a%3Cb%3E%26c%22%20%241%2F%C3%BC`,
		"curl --data-urlencode":  `it%27s%20%22a%3Cb%3E%26c%22%20%241%2F%C3%BC`,
		"xxd -p":                 `697427732022613c623e2663222024312fc3bc`,
		"python quote_plus":      `it%27s+%22a%3Cb%3E%26c%22+%241%2F%C3%BC`,
		"the old escape, %-form": `it%27s%20%22a%3cb%3e%26c%22%20%241%2f%c3%bc`,
	} {
		if got := masker(t, value).String("<" + printed + ">"); got != "<***>" {
			t.Errorf("%s: %s became %s", name, printed, got)
		}
	}
}

func TestMasksValuesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	const value = "pa\xffss\xc3word"
	m := masker(t, value)
	for name, encode := range encodings() {
		if got := m.String("<" + encode(value) + ">"); got != "<***>" {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if got := m.String("<pa\uFFFDss\uFFFDword>"); got != "<***>" {
		t.Errorf("with replacement characters: %q", got)
	}
}

// A tool breaks the Base64 of a file into lines wherever the value stands in it.
func TestMasksValuesInBrokenBase64(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"tok3n-7", password, strings.Repeat("0123456789abcdef", 15)} {
		m := masker(t, value)
		for _, width := range []int{64, 76} {
			for before := range 2 * width {
				text := strings.Repeat("A", before) + value + strings.Repeat("Z", 50)
				got := m.String(inLines(base64.StdEncoding.EncodeToString([]byte(text)), width))
				head, tail, found := strings.Cut(strings.ReplaceAll(got, "\n", ""), Replacement)
				own := (before+len(value))*8/6 - len(head) // characters that stand for the value alone, from there on
				rest := (len(text)+2)/3*4 - len(head) - len(tail)
				if shown := len(head) - (before*8+5)/6; !found || shown > 2 || own > rest {
					t.Errorf("%q after %d bytes, in lines of %d: %q", value, before, width, got)
				}
			}
		}
	}
}

// inLines breaks a text after every width characters.
func inLines(text string, width int) string {
	var lines []string
	for line := range slices.Chunk([]byte(text), width) {
		lines = append(lines, string(line))
	}
	return strings.Join(lines, "\n")
}

// What is held back must be the beginning of a form, and nothing else may be:
// who follows a log sees all other text at once.
func TestPropertyHoldsBackOnlyABeginning(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := secretsOf(t)
		m := rapidMasker(t, secrets)
		var all []string
		for _, secret := range secrets {
			all = append(all, formsOf(secret)...)
		}
		var out bytes.Buffer
		w, text := m.Writer(&out), ""
		for _, write := range rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("ab/\"\n üXY%26")), 0, 9, -1), 1, 5).Draw(t, "writes") {
			text += write
			if _, err := w.Write([]byte(write)); err != nil {
				t.Fatal(err)
			}
			if m.String(text) != text {
				t.Skip("a value by chance")
			}
			held, ok := strings.CutPrefix(text, out.String())
			begins := func(form string) bool { return strings.HasPrefix(form, held) }
			if !ok || !slices.ContainsFunc(all, begins) {
				t.Fatalf("of %q it wrote %q", text, out.String())
			}
		}
	})
}

// BenchmarkNew makes a masker of a private key, the longest value that is common.
func BenchmarkNew(b *testing.B) {
	var lines []string
	for i := range 26 {
		lines = append(lines, fmt.Sprintf("%x", sha256.Sum256([]byte{byte(i)})))
	}
	key := "-----BEGIN PRIVATE KEY-----\n" + strings.Join(lines, "\n") + "\n-----END PRIVATE KEY-----\n"
	b.ReportAllocs()
	for b.Loop() {
		m := masker(b, key)
		b.ReportMetric(float64(len(m.automaton.Load().nodes)), "nodes")
	}
}

// TestWrappedBase64HasALimit: a value is searched in wrapped Base64 up to maxWrapped bytes,
// because that takes some hundred patterns, and only in the standard alphabet.
func TestWrappedBase64HasALimit(t *testing.T) {
	t.Parallel()
	broken := func(length int, newline string) bool {
		value := strings.Repeat("ab?", length)[:length]
		return slices.ContainsFunc(base64Forms(value), func(form string) bool {
			at := strings.Index(form, newline)
			return at > 0 && at < 60 && at%4 == 0 // not a line of 64 or 76 characters
		})
	}
	for length, want := range map[int]bool{100: true, maxWrapped: true, maxWrapped + 1: false} {
		if got := broken(length, "\n"); got != want {
			t.Errorf("%d bytes are searched in wrapped Base64: %v", length, got)
		}
	}
	if got := wrapped(strings.Repeat("a", 64), 64); got != nil {
		t.Errorf("a line that fits is wrapped: %q", got)
	}
}
