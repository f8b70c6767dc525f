package pipeline

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"

	"prdrunner/pipeline/diagnostics"
)

// build returns the pipeline of a source that must have no errors.
func build(t testing.TB, src string, in Inputs) *Pipeline {
	t.Helper()
	f, _ := Parse([]byte(src), "test.hcl")
	p, diags := f.Pipeline(in)
	if diags.HasErrors() {
		t.Fatal(render(t, f, diags))
	}
	return p
}

func render(t testing.TB, f *File, diags hcl.Diagnostics) string {
	t.Helper()
	var buf bytes.Buffer
	if err := diagnostics.WriteText(&buf, f.Sources(), diags, 0, false); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestValidFiles(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/valid/*.hcl")
	if err != nil || len(paths) == 0 {
		t.Fatal("no valid files", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			f, _ := Load(path)
			p, diags := f.Pipeline(Inputs{Workspace: "testdata/workspace"})
			if len(diags) > 0 {
				t.Fatal(render(t, f, diags))
			}
			for _, phase := range p.Phases {
				for _, ws := range phase.Workstreams {
					if ws.NeedsResults() {
						continue
					}
					if _, diags := ws.Invocation(Results{}); diags.HasErrors() {
						t.Error(render(t, f, diags))
					}
				}
			}
		})
	}
}

func TestCashier(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/valid/cashier.hcl")
	if err != nil {
		t.Fatal(err)
	}
	p := build(t, string(src), Inputs{})
	if p.ID != "PRD-009" || p.Title != "Cashier Workflows" || p.Document != "docs/PRD-009.md" || len(p.Phases) != 2 {
		t.Errorf("header: %+v", p)
	}
	ws1, player := p.Workstream("WS1"), p.Workstream(`service["player"]`)
	if ws1 == nil || player == nil || len(p.Phases[1].Workstreams) != 2 {
		t.Fatalf("workstreams: %v %v", ws1, player)
	}
	if len(ws1.Gates) != 2 || ws1.Gates[0].Label() != "lint (WS1)" || ws1.Gates[1].Label() != "schema-validation (WS1)" {
		t.Errorf("gates of WS1: %v", ws1.Gates)
	}
	if ws1.Timeout != 10*time.Minute || ws1.Retry.Attempts != 2 || player.Timeout != 5*time.Minute || player.Retry.Attempts != 3 {
		t.Errorf("inherited: %+v %+v", ws1, player)
	}
	if diff := cmp.Diff([]string{"WS1"}, player.DependsOn); diff != "" {
		t.Error(diff)
	}
	coverage := p.Phases[1].Gates[0]
	if coverage.Kind != GateMetric || *coverage.Metric.Min != "80" || *coverage.Metric.MaxDrop != "1" || coverage.Metric.Max != nil {
		t.Errorf("metric: %+v", coverage.Metric)
	}
	if signOff := p.Phases[1].Gates[1]; signOff.Label() != "sign-off (services)" || signOff.Approval.Message != "Ship the service layer?" {
		t.Errorf("approval: %+v", signOff)
	}
	inv, diags := player.Invocation(Results{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	want := Invocation{
		Command:    []string{"sh", "-euc", "make service-player"},
		Env:        map[string]string{"DATABASE_URL": "postgres://cashier@localhost/cashier"},
		Definition: inv.Definition,
		Range:      inv.Range,
	}
	if inv.Range.Start.Line != 43 {
		t.Errorf("the range of the invocation is %v", inv.Range)
	}
	if diff := cmp.Diff(want, inv); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Secret{{"database_url", "postgres://cashier@localhost/cashier"}}, p.Secrets); diff != "" {
		t.Error(diff)
	}
}

// TestTitles: a pipeline, phase or workstream without a title has its name as title.
func TestTitles(t *testing.T) {
	t.Parallel()
	p := build(t, `
pipeline "PRD-001" {
  phase "a" {
    workstream "x" { command = ["x"] }
  }
  phase "b" {
    title = "B"
    workstream "y" {
      title   = "Y"
      command = ["x"]
    }
  }
}`, Inputs{})
	got := []string{p.Title, p.Phases[0].Title, p.Phases[0].Workstreams[0].Title, p.Phases[1].Title, p.Phases[1].Workstreams[0].Title}
	if diff := cmp.Diff([]string{"PRD-001", "a", "x", "B", "Y"}, got); diff != "" {
		t.Error(diff)
	}
}
