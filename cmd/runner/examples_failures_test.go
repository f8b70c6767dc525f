package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
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
		says string // a text that the output must contain
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
			name: "dagu", file: "data/rates.csv", good: "1.15\nusd,0.86\n", bad: "1.15\n",
			fails: []step{
				{"build PRD-106", 1, "merge failed"}, {"logs PRD-106 merge", 0, "out/orders/table.csv:3: no rate of USD"},
				{"logs PRD-106 clean", 0, "2 work/merged.csv"}, // the orders before that one
			},
			failed: map[string]string{"handler.txt": "failed", "work": "", "out/rates.csv": "GBP,1.15\n", "out/merged.csv": ""},
			repaired: []step{
				{"build PRD-106 --resume", 0, "PRD-106 complete"}, {"logs PRD-106 clean", 0, "6 work/merged.csv"}, {"build PRD-106 --resume", 6, ""},
			},
			completed: map[string]string{"handler.txt": "complete", "work": "", "out/report.txt": "899.58"},
		},
		{
			name: "argo", file: "store/store.go", good: "Mean: h.Mean + p.Value", bad: "Mean: p.Value",
			fails:     []step{{"build PRD-107", 1, "unit failed"}, {"logs PRD-107 unit", 0, "--- FAIL: TestStore"}},
			failed:    map[string]string{"out/status.txt": "build completed\nunit failed\ncoverage-line blocked", "out/issue.md": "- unit has failed", "out/summary.txt": ""},
			repaired:  []step{{"build PRD-107 --resume", 0, "PRD-107 complete"}, {"build PRD-107 --resume", 6, ""}},
			completed: map[string]string{"out/issue.md": "", "out/status.txt": "unit completed\ncoverage-line completed", "out/summary.txt": "server01,10,5.50"},
		},
		{
			name: "deployment", file: "migrations/0002_currency.awk", good: `",eur"`, bad: `"eur"`,
			fails:     []step{{"build PRD-108", 3, "go-ahead"}, {"approve PRD-108", 0, ""}, {"build PRD-108 --resume", 1, "migrate-smoke (migrate) failed"}},
			failed:    map[string]string{"production/data/orders.csv": "1001,ana,2500\n", "production/data/schema.txt": "1", "production/traffic.txt": "primary 100", "production/releases/2.0.txt": "canary", "deployments.txt": "2.0: failed"},
			repaired:  []step{{"build PRD-108 --resume", 3, "go-ahead"}, {"approve PRD-108", 0, ""}, {"build PRD-108 --resume", 0, "PRD-108 complete"}},
			completed: map[string]string{"production/data/orders.csv": "1001,ana,2500,eur\n", "production/releases/2.0.txt": "production", "deployments.txt": "2.0: complete"},
		},
		{
			name: "dagu", file: "data/rates.csv", good: "currency,euros\neur,1\ngbp,1.15\nusd,0.86\n", bad: "",
			fails:  []step{{"build PRD-106", 1, "check-file failed"}},
			failed: map[string]string{"out/rates.csv": ""},
		},
		{
			name: "deployment", file: "seed/schema.txt", good: "1", bad: "one",
			fails:  []step{{"build PRD-108", 3, "go-ahead"}, {"approve PRD-108", 0, ""}, {"build PRD-108 --resume", 1, "migrate failed"}},
			failed: map[string]string{"production/data/orders.csv": "1001,ana,2500\n", "production/releases/2.0.txt": "canary"},
		},
		{
			name: "deployment", file: "PRD-108.hcl", good: "main.version=${local.version}", bad: "main.version=1.9",
			fails:  []step{{"build PRD-108", 1, "canary is version 1.9, not 2.0"}},
			failed: map[string]string{"production/canary/shop": "", "production/primary/shop": "", "production/traffic.txt": "primary 100", "deployments.txt": "2.0: failed"},
		},
		{
			name: "deployment", file: "PRD-108.hcl", good: `'canary 10\nprimary 90\n'`, bad: `'primary 100\n'`,
			fails:  []step{{"build PRD-108", 1, "production/traffic.txt gives no traffic to canary"}},
			failed: map[string]string{"production/canary/shop": "", "production/primary/shop": "", "production/traffic.txt": "primary 100"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+path.Base(tt.file), func(t *testing.T) {
			t.Parallel()
			dir := copyExample(t, filepath.Join("workflows", tt.name))
			run := func(steps []step) {
				t.Helper()
				for _, s := range steps {
					expect(t, runExample(t, binary, dir, s.exit, s.args), s.says)
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
