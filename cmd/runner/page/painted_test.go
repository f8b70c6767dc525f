package page

import (
	"strings"
	"testing"
)

// TestPainted: a page shows the colours of a command, and nothing in what is printed becomes markup.
func TestPainted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                 "",
		"plain\ntext":                      "plain\ntext",
		"\x1b[32m✓\x1b[0m done":            `<span class="ok">✓</span> done`,
		"\x1b[1m\x1b[31mfailed\x1b[0m.":    `<span class="bold bad">failed</span>.`,
		"\x1b[1;33ma\x1b[mb":               `<span class="bold wait">a</span>b`,
		"\x1b[2mnot ended":                 `<span class="dim">not ended</span>`,
		"\x1b[4;95munknown\x1b[0m":         "unknown",
		"\x1b[31m<b>\x1b[0m&\"":            `<span class="bad">&lt;b&gt;</span>&amp;&#34;`,
		"\x1b[\"onclick=1m":                "nclick=1m",
		"a\x1b]0;title\x07b\x1b[2Jc\x1b[H": "abc",
		"\x1b[31":                          "",
	} {
		if got := string(Painted(text)); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestPainter: where a text is divided makes no difference.
func TestPainter(t *testing.T) {
	t.Parallel()
	const text = "\x1b[1;31mé ✓ <b>\x1b[0m 😀\n\x1b[32mdone\x1b[0m"
	for i := range len(text) {
		var p Painter
		got := string(p.Paint(text[:i]) + p.Paint(text[i:]))
		plain := strings.NewReplacer(`</span><span class="bold bad">`, "", `</span><span class="ok">`, "").Replace(got)
		if want := `<span class="bold bad">é ✓ &lt;b&gt;</span> 😀` + "\n" + `<span class="ok">done</span>`; plain != want {
			t.Errorf("divided at %d, it becomes %q, want %q", i, plain, want)
		}
	}
}
