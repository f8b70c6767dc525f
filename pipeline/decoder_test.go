package pipeline

import (
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// TestPlainIdentifier: what is taken for an identifier without the scanner is one.
func TestPlainIdentifier(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "A_1", "_", "a-b", "a--", "-a", "1a", "", "a b", "a.b", "é", "a\x00", "a\n"} {
		if isPlainIdentifier(name) && !hclsyntax.ValidIdentifier(name) {
			t.Errorf("%q is none", name)
		}
	}
	if !isPlainIdentifier("s-1_A") {
		t.Error("the usual ones should be found without it")
	}
}
