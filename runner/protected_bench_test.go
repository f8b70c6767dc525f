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

// BenchmarkProtected runs workstreams that take no time, one after the other on a real
// disk, with protect blocks and without. It reports what the protection adds to each.
func BenchmarkProtected(b *testing.B) {
	const n = 100
	var with, without time.Duration
	for b.Loop() {
		without += runProtected(b, n, false)
		with += runProtected(b, n, true)
	}
	b.ReportMetric(float64((with-without).Microseconds())/1e3/float64(n*max(b.N, 1)), "ms-added/workstream")
	b.ReportMetric(float64(with)/float64(without), "ratio")
}

func runProtected(b *testing.B, n int, protected bool) time.Duration {
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
		fmt.Fprintf(&src, "workstream \"W%d\" {\ncommand = [\"true\"]\n", i)
		if protected {
			name := fmt.Sprintf("data/%d", i)
			fmt.Fprintf(&src, "protect { scope = [%q] }\n", name)
			if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		src.WriteString("}\n")
	}
	src.WriteString("}\n}\n")
	p := parsed(b, []byte(src.String()), dir)
	began := time.Now()
	e, err := runner.Build(b.Context(), runner.Options{Pipeline: p, Store: s, Session: x, Executor: instant{}, Workspace: dir, Parallel: 1})
	took := time.Since(began)
	if err != nil || e.Status != state.StatusComplete {
		b.Fatal(e, err)
	}
	if err := x.Close(); err != nil {
		b.Fatal(err)
	}
	return took
}
