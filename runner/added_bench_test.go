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

// BenchmarkAdded reports what a protect block, and what an isolate block, adds to each
// workstream. The workstreams take no time, and run one after the other on a real disk, in a
// workspace with a file for each.
func BenchmarkAdded(b *testing.B) {
	blocks := map[string]func(i int) string{
		"protect": func(i int) string { return fmt.Sprintf("protect { scope = [\"data/%d\"] }\n", i) },
		"isolate": func(int) string { return "isolate {}\n" },
	}
	for name, block := range blocks {
		b.Run(name, func(b *testing.B) {
			const n = 100
			var with, without time.Duration
			for b.Loop() {
				without += timeWithBlock(b, n, func(int) string { return "" })
				with += timeWithBlock(b, n, block)
			}
			b.ReportMetric(float64((with-without).Microseconds())/1e3/float64(n*max(b.N, 1)), "ms-added/workstream")
			b.ReportMetric(float64(with)/float64(without), "ratio")
		})
	}
}

// timeWithBlock returns how long a build of n workstreams takes, each with a block.
func timeWithBlock(b *testing.B, n int, block func(i int) string) time.Duration {
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
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
		b.Fatal(err)
	}
	var src strings.Builder
	src.WriteString("pipeline \"PRD-001\" {\nphase \"all\" {\n")
	for i := range n {
		fmt.Fprintf(&src, "workstream \"W%d\" {\ncommand = [\"true\"]\n%s}\n", i, block(i))
		if err := os.WriteFile(filepath.Join(dir, "data", fmt.Sprint(i)), []byte("1"), 0o644); err != nil {
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
