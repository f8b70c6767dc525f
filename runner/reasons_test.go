package runner_test

import (
	"fmt"
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
)

// TestReasonsNameWhatIsSo: the reason of a step in the plan names the changes that the
// step will find when the run reaches the step. The reason does not name a file that is
// restored before that.
func TestReasonsNameWhatIsSo(t *testing.T) {
	t.Parallel()
	const failing = "phase \"last\" {\n workstream \"f\" { script = \"exit 1\" }\n}\n"
	instances := func(keys string) string {
		return `
phase "one" {
  workstream "e" {
    for_each = toset([` + keys + `])
    script   = "true"
  }
}
phase "two" {
  workstream "b" {
    depends_on = [workstream.e]
    script     = "true"
  }
}
` + failing
	}
	const judged = `
phase "one" {
  workstream "a" {
    artifacts = ["out"]
    script    = "echo a > out"
  }
  gate "check" {
    inputs  = ["out", "beside"]
    command = ["true"]
  }
}
` + failing
	const skipped = `variable "on" { default = false }
---
phase "one" {
  workstream "a" {
    when   = var.on
    script = "true"
  }
  workstream "b" {
    depends_on = [workstream.a]
    run_on     = "always"
    script     = "true"
  }
  workstream "c" {
    depends_on = [workstream.b]
    script     = "true"
  }
}
` + failing
	const many = `
phase "one" {
  workstream "a" {
    inputs = ["many/*"]
    script = "true"
  }
}
` + failing
	for name, test := range map[string]struct {
		source     string
		change     func(b *bench)
		invalidate string
		step, want string
	}{
		"what depends on a skipped one":     {skipped, nil, "a", "b", "it depends on a, which was invalidated"},
		"and what depends on that":          {skipped, nil, "a", "c", "it depends on a, which was invalidated"},
		"an instance that is gone":          {instances(`"k"`), func(b *bench) { b.rewrite(instances("")) }, "", "b", `upstream changed: e["k"]`},
		"some of them":                      {instances(`"k", "l"`), func(b *bench) { b.rewrite(instances("")) }, "", "b", `upstream changed: e["k"] and 1 more`},
		"what is restored before it judges": {judged, func(b *bench) { b.remove("out"); b.write("beside", "2") }, "", "check (one)", "what it judged changed: beside"},
		"more inputs than can be listed": {many, func(b *bench) {
			for i := range 70 {
				b.write(fmt.Sprintf("many/%d", i), "1")
			}
		}, "", "a", "inputs changed: many/1 and 68 more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, test.source)
			b.write("beside", "1")
			b.write("many/0", "1")
			b.must(state.StatusFailed)
			if test.change != nil {
				test.change(b)
			}
			steps := b.preview(func(o *runner.Options) {
				if test.invalidate != "" {
					o.Select.Invalidate = []string{test.invalidate}
				}
			})
			s, ok := steps[test.step]
			if got := string(s.Reason); !ok || got != test.want {
				t.Errorf("the decision for %s is %s, with the reason %s; want %s", test.step, s.Decision, got, test.want)
			}
			for _, c := range s.Changes {
				if strings.Contains(string(c.Name), "out") {
					t.Errorf("%s is restored before any gate judges, but the plan names it as changed: %+v", c.Name, c)
				}
			}
		})
	}
}
