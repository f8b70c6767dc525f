package functions

import (
	"fmt"
	"strings"
	"testing"
)

// TestYAMLAliases: aliases of aliases, of which a few lines stand for more values
// than there is memory, are refused before they are decoded.
func TestYAMLAliases(t *testing.T) {
	t.Parallel()
	bomb := "a0: &a0 [" + strings.Repeat("x,", 10) + "]\n"
	for i := 1; i < 12; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10))
	}
	for text, want := range map[string]string{
		bomb:                          "more than 1000000 values",
		"a: &a [1, 2]\nb: [*a, *a]\n": "",
		"a: &a [*a]\n":                "cannot refer to", // itself
		"a: [":                        "did not find",
	} {
		_, diags := evaluate(fmt.Sprintf("[tostring(length(yamldecode(%q)))]", text))
		if got := diags.Error(); want == "" && diags.HasErrors() || want != "" && !strings.Contains(got, want) {
			t.Errorf("%.40q: %s, want %q", text, got, want)
		}
	}
}
