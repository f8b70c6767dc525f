package show_test

import (
	"bytes"
	"strings"
	"testing"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner/plan"
	"prdrunner/runner/why"
)

// TestWhyNamesToldCauses: a cause that is told above is only named, and a run without a time has none.
func TestWhyNamesToldCauses(t *testing.T) {
	t.Parallel()
	e := why.Explanation{
		Name: "a", Kind: plan.WorkstreamStep,
		Next: &why.Cause{Name: "a", Does: "may run again", Because: []*why.Cause{{Name: "b", Does: "runs again", Above: true}}},
		Last: &why.Run{Attempt: 1, Ended: "completed", Cause: &why.Cause{Name: "a", Does: "ran"}},
	}
	var out bytes.Buffer
	if err := show.Why(&out, advice.CommandLine{}, at(1), info.NewWhyReport(advice.CommandLine{}, "PRD-001", "", e, nil), nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"    b runs again (see above)\n", "at a time that is no longer on record, completed\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, out.String())
		}
	}
}
