package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFailingWorkflows runs workflows that are about failures in the failing way: with an
// edit that breaks them. What runs after a failure must have run, and after the repair a
// resume must complete the session.
func TestFailingWorkflows(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	type step struct {
		args string
		exit int
	}
	tests := []struct {
		name            string
		file, good, bad string            // the text of a file that is broken
		fails           []step            //
		failed          map[string]string // path → a text that the file must contain after that; "" if it must not be there
		repaired        []step            // after the repair
		completed       map[string]string // as failed
	}{
		{
			name: "dagu", file: "data/rates.csv", good: "usd,0.86", bad: "usd,0",
			fails:     []step{{"build PRD-106", 1}},
			failed:    map[string]string{"handler.txt": "failed", "work": "", "out/merged.csv": ""},
			repaired:  []step{{"build PRD-106 --resume", 0}, {"build PRD-106 --resume", 6}},
			completed: map[string]string{"handler.txt": "complete", "work": "", "out/report.txt": "899.58"},
		},
		{
			name: "argo", file: "store/store.go", good: "Mean: h.Mean + p.Value", bad: "Mean: p.Value",
			fails:     []step{{"build PRD-107", 1}},
			failed:    map[string]string{"out/status.txt": "build completed\nunit failed\ncoverage-line blocked", "out/issue.md": "- unit has failed", "out/summary.txt": ""},
			repaired:  []step{{"build PRD-107 --resume", 0}},
			completed: map[string]string{"out/status.txt": "unit completed\ncoverage-line completed", "out/summary.txt": "server01,10,5.50"},
		},
		{
			name: "deployment", file: "migrations/0002_currency.awk", good: `",eur"`, bad: `"eur"`,
			fails:     []step{{"build PRD-108", 3}, {"approve PRD-108", 0}, {"build PRD-108 --resume", 1}},
			failed:    map[string]string{"production/data/orders.csv": "1001,ana,2500\n", "production/data/schema.txt": "1", "production/traffic.txt": "primary 100", "production/releases/2.0.txt": "canary", "deployments.txt": "2.0: failed"},
			repaired:  []step{{"build PRD-108 --resume", 3}, {"approve PRD-108", 0}, {"build PRD-108 --resume", 0}},
			completed: map[string]string{"production/data/orders.csv": "1001,ana,2500,eur\n", "production/releases/2.0.txt": "production", "deployments.txt": "2.0: complete"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := copyExample(t, filepath.Join("workflows", tt.name))
			run := func(steps []step) {
				t.Helper()
				for _, s := range steps {
					cmd := exec.Command(binary, strings.Fields(s.args)...)
					cmd.Dir = dir
					out, err := cmd.CombinedOutput()
					if cmd.ProcessState == nil {
						t.Fatal(err)
					}
					if got := cmd.ProcessState.ExitCode(); got != s.exit {
						t.Fatalf("runner %s: exit code %d, want %d\n%s", s.args, got, s.exit, out)
					}
				}
			}
			replaceInFile(t, filepath.Join(dir, tt.file), tt.good, tt.bad)
			run(tt.fails)
			checkFiles(t, dir, tt.failed)
			replaceInFile(t, filepath.Join(dir, tt.file), tt.bad, tt.good)
			run(tt.repaired)
			checkFiles(t, dir, tt.completed)
		})
	}
}

// checkFiles checks that each file has a text, or is not there if the text is empty.
func checkFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		switch {
		case text == "" && !errors.Is(err, fs.ErrNotExist):
			t.Errorf("%s is there: %.200q, %v", name, content, err)
		case text != "" && !strings.Contains(string(content), text):
			t.Errorf("%s does not contain %q: %.200q, %v", name, text, content, err)
		}
	}
}
