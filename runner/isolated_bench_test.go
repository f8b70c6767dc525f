package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
)

// BenchmarkIsolated runs workstreams that take no time in a workspace with 100 files, each in
// a work tree of its own, and without. It reports what the work tree adds to each.
func BenchmarkIsolated(b *testing.B) {
	const n = 100
	var with, without time.Duration
	for b.Loop() {
		without += runIsolated(b, n, "")
		with += runIsolated(b, n, "isolate {}\n")
	}
	b.ReportMetric(float64((with-without).Microseconds())/1e3/float64(n*max(b.N, 1)), "ms-added/workstream")
}

func runIsolated(b *testing.B, n int, block string) time.Duration {
	b.Helper()
	dir := b.TempDir()
	s, err := checkpoint.OpenStore(filepath.Join(dir, ".runner"), checkpoint.Options{})
	if err != nil {
		b.Fatal(err)
	}
	x, err := s.Lock(b.Context(), "PRD-001", state.Actor{})
	if err != nil {
		b.Fatal(err)
	}
	var src strings.Builder
	src.WriteString("pipeline \"PRD-001\" {\nphase \"all\" {\n")
	for i := range n {
		fmt.Fprintf(&src, "workstream \"W%d\" {\ncommand = [\"true\"]\n%s}\n", i, block)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%d", i)), []byte(block), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	src.WriteString("}\n}\n")
	p := parsed(b, []byte(src.String()), dir)
	began := time.Now()
	e, err := runner.Build(b.Context(), runner.Options{
		Pipeline: p, Store: s, Session: x, Executor: instant{}, Workspace: dir, WorkTrees: b.TempDir(), Parallel: 1,
	})
	took := time.Since(began)
	if err != nil || e.Status != state.StatusComplete {
		b.Fatal(e, err)
	}
	if err := x.Close(); err != nil {
		b.Fatal(err)
	}
	return took
}
