package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"prdrunner/pipeline"
)

// TestExamples runs the commands that each example names in its README and comments, in a
// fresh copy, and checks the exit codes and the files that the commands make.
func TestExamples(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	type step struct {
		args string
		exit int
	}
	tests := []struct {
		name  string
		steps []step
		files map[string]string // path → a text that the file must contain
	}{
		{"minimal", []step{{"build PRD-001", 0}, {"build PRD-001 --resume", 6}}, map[string]string{
			"out/words.txt": "the",
		}},
		{"approval", []step{
			{"build PRD-002", 3}, {"build PRD-002 --resume", 3}, {"approve PRD-002 -m checked", 0}, {"build PRD-002 --resume", 0},
		}, map[string]string{"out/release/NOTES.md": "#"}},
		{"matrix", []step{{"build PRD-003", 0}, {"status PRD-003", 0}}, map[string]string{"out/report.tsv": "forest"}},
		{"monorepo", []step{{"build PRD-004", 0}, {"build PRD-004 --resume", 6}}, map[string]string{"dist/cli.sh": "## package chars"}},
		{"scatter", []step{{"build PRD-005", 0}, {"build PRD-005 --resume", 6}}, map[string]string{"out/words.tsv": "mill"}},
		{"migration", []step{
			{"build PRD-006", 3}, {"approve PRD-006", 0}, {"build PRD-006 --resume", 0}, {"checkpoint rollback PRD-006 4 --yes", 0},
			{"build PRD-006 --resume", 3}, {"approve PRD-006", 0}, {"build PRD-006 --resume", 0},
		}, map[string]string{"build/schema.sql": "total_cents", ".runner/PRD-006.json": `"status": "complete"`}},
		{"agents", []step{
			{"build PRD-007", 1}, {"override PRD-007 review --reason later", 0}, {"build PRD-007 --resume", 0}, {"checkpoint show PRD-007 latest", 0}, {"build PRD-007 --resume", 6},
		}, map[string]string{"out/report.md": "Fixes after tests: 2", "out/page-name.sh": "sed 's/^-*//'", ".runner/PRD-007.json": `"verdict": "overridden"`}},
		{"workflows/cobra", []step{{"build PRD-101", 0}, {"build PRD-101 --resume", 6}}, map[string]string{"out/windows.txt": "GOOS=windows"}},
		{"workflows/zustand", []step{
			{"build PRD-102", 0}, {"build PRD-102 --resume", 6},
			{"build PRD-103", 3}, {"approve PRD-103", 0}, {"build PRD-103 --resume", 0}, {"build PRD-103 --resume", 6},
		}, map[string]string{"out/strict-noglob.txt": "ok: a value is loaded", "registry/1.4.0/files.txt": "cjs/react.sh"}},
		{"workflows/nextflow", []step{{"build PRD-105", 0}, {"build PRD-105 --resume", 6}, {"build PRD-105 --resume --var proteins=false", 0}}, map[string]string{
			"results/contigs.tsv": "gut.2\t120\t", "results/left-out.txt": "soil_2",
		}},
		{"workflows/snakemake", []step{{"build PRD-104", 0}, {"build PRD-104 --resume", 6}}, map[string]string{"plots/quals.svg": "I:333"}},
		{"workflows/argo", []step{{"build PRD-107", 0}, {"logs PRD-107.e2e service.server", 0}}, map[string]string{
			"out/cpu.csv": "server01,10,5.50", "out/status.txt": "e2e completed",
		}},
		{"workflows/dagu", []step{
			{"build PRD-106", 0}, {"status PRD-106.table.orders", 0}, {"logs PRD-106 reconcile", 0}, {"build PRD-106 --resume --var close=true", 0},
			{"build -f table.hcl --var table=orders --var month=2026-09", 0},
		}, map[string]string{"out/report.txt": "899.58", "out/claims.csv": "MILL,9.50", "out/closed.txt": "out/totals.csv", "handler.txt": "complete"}},
		{"workflows/deployment", []step{{"build PRD-108", 3}, {"approve PRD-108", 0}, {"build PRD-108 --resume", 0}}, map[string]string{
			"production/data/orders.csv": "1001,ana,2500,eur", "production/releases/2.0.txt": "production", "production/traffic.txt": "primary 100", "deployments.txt": "2.0: complete",
		}},
		{"workflows/jest", []step{{"build PRD-109", 0}, {"build PRD-109 --resume", 6}}, map[string]string{
			"dist/table.txt": "jest-cli 46 72", "dist/jest/package.json": `"@jest/core": "30.4.2"`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := copyExample(t, tt.name)
			for _, s := range tt.steps {
				cmd := exec.Command(binary, strings.Fields(s.args)...)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				if err != nil && !errors.As(err, &exit) {
					t.Fatal(err)
				}
				if got := cmd.ProcessState.ExitCode(); got != s.exit {
					t.Fatalf("runner %s: exit code %d, want %d\n%s", s.args, got, s.exit, out)
				}
			}
			for name, text := range tt.files {
				content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
				if err != nil || !bytes.Contains(content, []byte(text)) {
					t.Errorf("%s does not contain %q: %v", name, text, err)
				}
			}
		})
	}
}

// TestEveryExampleIsRun checks that a test of this package runs each pipeline below examples. A
// file without a test of its own must be called or included by a pipeline that has one.
func TestEveryExampleIsRun(t *testing.T) {
	t.Parallel()
	const examples = "../../examples"
	files, err := doublestar.Glob(os.DirFS(examples), "**/*.hcl")
	if err != nil || len(files) == 0 {
		t.Fatal("no example is found: ", err)
	}
	tests := testsOfExamples(t)
	run, ids := map[string]bool{}, map[string]string{}
	for _, name := range files {
		source, err := os.ReadFile(filepath.Join(examples, name))
		if err != nil {
			t.Fatal(err)
		}
		file, _ := pipeline.Parse(source, path.Base(name))
		id := file.ID()
		if other, taken := ids[id]; taken && id != "" {
			t.Errorf("%s and %s have the same id, so it is not known which of them a test runs", other, name)
		}
		ids[id] = name
		if id == "" || !regexp.MustCompile(`"build(", "| )`+regexp.QuoteMeta(id)+`\b`).MatchString(tests) {
			continue
		}
		dir := path.Dir(name)
		for used := range file.Including(pipeline.Inputs{Workspace: filepath.Join(examples, dir)}).Sources() {
			run[path.Join(dir, used)] = true
		}
	}
	for _, name := range files {
		if !run[name] {
			t.Errorf("no test runs examples/%s", name)
		}
	}
}

// testsOfExamples returns the source of the tests that run examples.
func testsOfExamples(t *testing.T) string {
	t.Helper()
	names, err := filepath.Glob("examples*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range append(names, "kill_test.go") { // TestKill runs cashier, the largest
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(source)
	}
	return all.String()
}
