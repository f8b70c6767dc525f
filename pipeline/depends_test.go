package pipeline

import (
	"fmt"
	"strings"
	"testing"
)

// summed returns a pipeline with n instances of a block, and a workstream that uses each of them
// in a for expression. It depends on what the given reference names.
func summed(n int, dependsOn string) string {
	return fmt.Sprintf(`
locals { names = [for i in range(10) : [for j in range(%d) : "p${i}-${j}"]] }
pipeline "PRD-001" {
  phase "build" {
    workstream "package" {
      for_each = toset(flatten(local.names))
      command  = ["true"]
    }
    workstream "mid" {
      for_each   = toset(flatten(local.names))
      depends_on = [workstream.package[each.key]]
      command    = ["true"]
    }
    workstream "sum" {
      depends_on = [%s]
      command    = ["true"]
      env        = { ALL = join(",", [for n in flatten(local.names) : workstream.package[n].status]) }
    }
  }
}`, n/10, dependsOn)
}

// TestWalkToManyTargets: looking for all instances of a block takes one walk, not one for each.
func TestWalkToManyTargets(t *testing.T) {
	t.Parallel()
	const n = 1000
	tests := []struct {
		name, dependsOn string
		steps           int
	}{
		{"the block itself", "workstream.package", 1},
		{"its instances", "for n in flatten(local.names) : workstream.package[n]", n},
		{"through another block", "workstream.mid", 1 + n},
		{"through instances of another block", "for n in flatten(local.names) : workstream.mid[n]", 2 * n},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := build(t, summed(n, tt.dependsOn), Inputs{})
			var targets []target
			for _, ws := range p.Phases[0].Workstreams {
				if ws.Block == "package" {
					targets = append(targets, ws.target())
				}
			}
			walk := p.Workstream("sum").walkTo(targets...)
			for _, target := range targets {
				if !walk.finds(target) {
					t.Fatalf("sum does not wait for %s", target.written())
				}
			}
			if len(targets) != n || walk.steps != tt.steps {
				t.Errorf("%d steps to %d instances, want %d to %d", walk.steps, len(targets), tt.steps, n)
			}
			if got := strings.Count(strings.Join(p.Workstream("sum").Upstream, " "), "package["); got != n {
				t.Errorf("sum uses %d instances, want %d", got, n)
			}
		})
	}
}
