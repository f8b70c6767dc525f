package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/runner/plan"
)

// FuzzPlanFile reads random bytes as a saved plan. readPlan must return an error that
// names the file, or a plan that is the same after it was written and read again.
func FuzzPlanFile(f *testing.F) {
	seed, err := json.Marshal(&plan.Plan{
		FormatVersion: plan.FormatVersion, PRD: "PRD-001", MadeAt: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC),
		Phases: []plan.Phase{{Name: "a"}}, Conflicts: []plan.Conflict{{Path: "x"}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"format_version":"99.0"}`))
	f.Add([]byte(`{"format_version":"` + plan.FormatVersion + `","prd":"PRD-001","phases":[{"steps":null}],"seq":-1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		env := &cli.Environment{CommandLine: advice.CommandLine{Workdir: dir}}
		path := filepath.Join(dir, "plan.json")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		planned, err := readPlan(env, "plan.json", "PRD-001")
		if err != nil {
			if !strings.Contains(err.Error(), "plan.json") {
				t.Fatalf("the error does not name the file: %v", err)
			}
			return
		}
		if err := writePlan(path, planned); err != nil {
			t.Fatal(err)
		}
		again, err := readPlan(env, "plan.json", "PRD-001")
		if diff := cmp.Diff(planned, again, cmpopts.IgnoreUnexported(plan.Plan{})); err != nil || diff != "" {
			t.Fatalf("%v, (-read +written and read):\n%s", err, diff)
		}
	})
}
