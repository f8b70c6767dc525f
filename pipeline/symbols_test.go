package pipeline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSymbols(t *testing.T) {
	t.Parallel()
	f, _ := Load("testdata/valid/cashier.hcl")
	var got []string
	for _, symbol := range f.Symbols() {
		got = append(got, symbol.Kind+" "+symbol.Name)
		if text := string(symbol.NameRange.SliceBytes(f.Source())); strings.Trim(text, `"`) != symbol.Name {
			t.Errorf("%s: its name is at %q", symbol.Name, text)
		}
	}
	want := []string{
		"variable coverage_floor", "variable database_url", "local services", "gate lint", "pipeline PRD-009",
		"phase database", "workstream WS1", "gate schema-validation", "phase services", "workstream service", "gate coverage", "gate sign-off",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
