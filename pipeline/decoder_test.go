package pipeline

import (
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// TestPlainIdentifier: isPlainIdentifier accepts only texts that are identifiers for HCL.
func TestPlainIdentifier(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "A_1", "_", "a-b", "a--", "-a", "1a", "", "a b", "a.b", "é", "a\x00", "a\n"} {
		if isPlainIdentifier(name) && !hclsyntax.ValidIdentifier(name) {
			t.Errorf("%q is not an identifier", name)
		}
	}
	if !isPlainIdentifier("s-1_A") {
		t.Error("a usual identifier was not accepted")
	}
}
