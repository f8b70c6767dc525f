package pipeline

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
)

const withResults = `
variable "who" { default = "world" }
locals {
  greeting = "hello ${var.who}"
  failed   = "failed"
}
pipeline "PRD-001" {
  title    = "T"
  document = "docs/x.md"
  type     = "implement"
  hook {
    on      = ["complete"]
    command = ["echo", workstream.build.outputs.version, run.session]
  }
  hook {
    on     = [local.failed, "paused"]
    script = "echo ${pipeline.id} ${run.attempt}"
  }
  phase "one" {
    workstream "build" {
      command = ["make", local.greeting, pipeline.id, pipeline.title, pipeline.type, pipeline.document]
      gate "own" {
        condition     = workstream.build.outputs.version != ""
        error_message = "version is ${workstream.build.outputs.version}"
      }
      gate "script" { script = "test ${workstream.build.outputs.version}" }
    }
    workstream "service" {
      for_each   = { player = 1, visit = 2 }
      depends_on = [workstream.build]
      command    = ["serve", each.key, each.value, workstream.build.outputs.version]
    }
    workstream "peer" {
      for_each   = toset(["player", "visit"])
      depends_on = [workstream.service[each.key]]
      command    = concat(["peer", workstream.service[each.key].outputs.port], workstream.service[each.key].artifacts)
    }
    workstream "last" {
      depends_on = [workstream.peer]
      command    = ["last", workstream.build.outputs.version, try(workstream.build.outputs.none, "fallback")]
    }
    gate "after" { command = ["echo", workstream.last.outputs.x] }
  }
  phase "two" {
    when = metric.coverage > 80 && workstream.build.outputs.version != ""
    workstream "all" {
      command = concat(["all"], [for k, w in workstream.service : "${k}=${w.outputs.port}"])
      env     = { SESSION = run.session, RESUMED = run.resumed, NOTHING = null, N = 1 }
      when    = workstream.service["visit"].outputs.port == "2000"
      verify  = ["test", "-f", "done"]
      dir     = "sub/dir"
    }
  }
}`

func results() Results {
	done := map[string]Result{
		"build":             {Outputs: map[string]string{"version": "v1"}},
		`service["player"]`: {Outputs: map[string]string{"port": "1000"}, Artifacts: []string{"p1", "p2"}},
		`service["visit"]`:  {Outputs: map[string]string{"port": "2000"}},
		"last":              {Outputs: map[string]string{"x": "y"}},
	}
	return Results{
		Workstream: func(name string) (Result, bool) { r, ok := done[name]; return r, ok },
		Metrics:    map[string]any{"coverage": json.Number("80.5"), "clean": true, "grade": "A"},
		Run:        RunInfo{Session: "S1", Attempt: 2, Resumed: true},
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	p := build(t, withResults, Inputs{})
	for name, want := range map[string][]string{
		"build":             {"make", "hello world", "PRD-001", "T", "implement", "docs/x.md"},
		`service["player"]`: {"serve", "player", "1", "v1"},
		`service["visit"]`:  {"serve", "visit", "2", "v1"},
		`peer["player"]`:    {"peer", "1000", "p1", "p2"},
		`peer["visit"]`:     {"peer", "2000"},
		"last":              {"last", "v1", "fallback"},
		"all":               {"all", "player=1000", "visit=2000"},
	} {
		inv, diags := p.Workstream(name).Invocation(results())
		if diags.HasErrors() {
			t.Fatal(name, diags)
		}
		if diff := cmp.Diff(want, inv.Command); diff != "" {
			t.Error(name, diff)
		}
	}
	all, _ := p.Workstream("all").Invocation(results())
	if diff := cmp.Diff(map[string]string{"SESSION": "S1", "RESUMED": "true", "N": "1"}, all.Env); diff != "" || all.Dir != "sub/dir" {
		t.Error(diff, all.Dir)
	}
	verify, ok, diags := p.Workstream("all").Verify(results())
	if !ok || diags.HasErrors() || verify.Dir != "sub/dir" || verify.Env["SESSION"] != "S1" || len(verify.Command) != 3 {
		t.Error(verify, ok, diags)
	}
	if _, ok, _ := p.Workstream("build").Verify(results()); ok {
		t.Error("build has no verify")
	}
}

func TestGraph(t *testing.T) {
	t.Parallel()
	p := build(t, withResults, Inputs{})
	type node struct {
		Depends, Upstream []string
		Batch             int
		Needs             bool
	}
	got := map[string]node{}
	for _, phase := range p.Phases {
		for _, ws := range phase.Workstreams {
			got[ws.Name] = node{ws.DependsOn, ws.Upstream, ws.Batch, ws.NeedsResults()}
		}
	}
	player, visit := `service["player"]`, `service["visit"]`
	want := map[string]node{
		"build":          {nil, nil, 1, false},
		player:           {[]string{"build"}, []string{"build"}, 2, true},
		visit:            {[]string{"build"}, []string{"build"}, 2, true},
		`peer["player"]`: {[]string{player}, []string{player}, 3, true},
		`peer["visit"]`:  {[]string{visit}, []string{visit}, 3, true},
		"last":           {[]string{`peer["player"]`, `peer["visit"]`}, []string{`peer["player"]`, `peer["visit"]`, "build"}, 4, true},
		"all":            {nil, []string{player, visit}, 1, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	p := build(t, withResults, Inputs{})
	r := results()
	for name, enabled := range map[string]func(Results) (bool, hcl.Diagnostics){
		"one": p.Phases[0].Enabled, "two": p.Phases[1].Enabled, "all": p.Workstream("all").Enabled,
	} {
		if ok, diags := enabled(r); !ok || diags.HasErrors() {
			t.Error(name, ok, diags)
		}
	}
	if got := p.Phases[1].WhenMetrics(); !slices.Equal(got, []string{"coverage"}) || len(p.Workstream("all").WhenMetrics()) > 0 {
		t.Error("metrics", got)
	}
	r.Metrics["coverage"] = json.Number("79")
	if ok, diags := p.Phases[1].Enabled(r); ok || diags.HasErrors() {
		t.Error("coverage is too low", diags)
	}
	gate := p.Workstream("build").Gates[0]
	if ok, message, diags := gate.Condition(r); !ok || message != "" || diags.HasErrors() {
		t.Error(ok, message, diags)
	}
	r.Workstream = func(string) (Result, bool) { return Result{Outputs: map[string]string{"version": ""}}, true }
	if ok, message, diags := gate.Condition(r); ok || message != "version is " || diags.HasErrors() {
		t.Error(ok, message, diags)
	}
}

func TestHooksAndGates(t *testing.T) {
	t.Parallel()
	p := build(t, withResults, Inputs{})
	for i, want := range [][]HookEvent{{HookComplete}, {HookFailed, HookPaused}} {
		if diff := cmp.Diff(want, p.Hooks[i].On); diff != "" {
			t.Error(diff)
		}
	}
	for i, want := range [][]string{{"echo", "v1", "S1"}, {"sh", "-euc", "echo PRD-001 2"}} {
		inv, diags := p.Hooks[i].Invocation(results())
		if diff := cmp.Diff(want, inv.Command); diff != "" || diags.HasErrors() {
			t.Error(diff, diags)
		}
	}
	inv, diags := p.Workstream("build").Gates[1].Invocation(results())
	if diff := cmp.Diff([]string{"sh", "-euc", "test v1"}, inv.Command); diff != "" || diags.HasErrors() {
		t.Error(diff, diags)
	}
	inv, diags = p.Phases[0].Gates[0].Invocation(results())
	if diff := cmp.Diff([]string{"echo", "y"}, inv.Command); diff != "" || diags.HasErrors() {
		t.Error(diff, diags)
	}
}

// TestRetryOfAHook: a hook has a retry of its own, and that of the defaults is not for it.
func TestRetryOfAHook(t *testing.T) {
	t.Parallel()
	f, _ := Load("testdata/valid/hooks.hcl")
	p, diags := f.Pipeline(Inputs{})
	if diags.HasErrors() {
		t.Fatal(render(t, f, diags))
	}
	for i, want := range []Retry{
		{Attempts: 5, InitialInterval: 2 * time.Second, MaxInterval: time.Minute, Multiplier: 2, Jitter: 0.5, OnExitCodes: []int{7, 22}},
		noRetry,
	} {
		if diff := cmp.Diff(want, p.Hooks[i].Retry); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff(hookEvents, p.Hooks[0].On); diff != "" {
		t.Error(diff)
	}
}

func TestGateInvocationOfOtherKind(t *testing.T) {
	t.Parallel()
	p := build(t, withResults, Inputs{})
	if _, diags := p.Workstream("build").Gates[0].Invocation(results()); !diags.HasErrors() {
		t.Error("a condition has no process")
	}
}

func TestResultDiagnostics(t *testing.T) {
	t.Parallel()
	p := build(t, withResults, Inputs{})
	empty := Results{Workstream: func(string) (Result, bool) { return Result{}, true }}
	skipped := Results{Workstream: func(string) (Result, bool) { return Result{Status: StatusSkipped}, true }}
	for _, test := range []struct {
		name, ws string
		results  Results
		want     string
		detail   string
	}{
		{"no results at all", "last", Results{}, "Result not available", "it has not completed"},
		{"no such output", `service["visit"]`, empty, "Missing output", "completed without the output"},
		{"skipped", `service["visit"]`, skipped, "Missing output", "was skipped, and has no output"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inv, diags := p.Workstream(test.ws).Invocation(test.results)
			if len(diags) == 0 || diags[0].Summary != test.want || !strings.Contains(diags[0].Detail, test.detail) || inv.Command != nil {
				t.Error(inv, diags)
			}
		})
	}
	_, diags := p.Phases[1].Enabled(Results{Workstream: empty.Workstream, Metrics: map[string]any{"coverag": json.Number("1")}})
	if diags[0].Summary != "Metric not available" || !strings.Contains(diags[0].Detail, `Did you mean "coverag"?`) {
		t.Error(diags)
	}
}

func TestEmptyForEach(t *testing.T) {
	t.Parallel()
	p := build(t, `
pipeline "PRD-001" {
  phase "a" {
    workstream "WS1" { command = ["x"] }
    workstream "none" {
      for_each   = toset([])
      depends_on = [workstream.WS1]
      command    = ["x", each.key, each.value.any, workstream.WS1.outputs.x]
      artifacts  = ["out/${each.key}"]
      timeout    = "${each.value}m"
    }
    workstream "last" {
      depends_on = [workstream.none]
      command    = concat(["x"], keys(workstream.none))
    }
  }
}`, Inputs{})
	if len(p.Phases[0].Workstreams) != 2 || len(p.Workstream("last").DependsOn) != 0 {
		t.Error(p.Phases[0].Workstreams)
	}
	inv, diags := p.Workstream("last").Invocation(results())
	if diff := cmp.Diff([]string{"x"}, inv.Command); diff != "" {
		t.Error(diff, diags)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	p := build(t, withResults, Inputs{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, phase := range p.Phases {
				for _, ws := range phase.Workstreams {
					if _, diags := ws.Invocation(results()); diags.HasErrors() && ws.Name != "last" {
						t.Error(diags)
					}
					ws.Variables()
				}
			}
		})
	}
	wg.Wait()
}
