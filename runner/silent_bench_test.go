package runner_test

import (
	"path/filepath"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/runner"
	"prdrunner/runner/report"
)

// BenchmarkSilent runs workstreams that take no time and report nothing, on a disk in
// memory, so that only Runner's own work costs time. Then it follows as many reports of
// nothing as the run did. It reports what a workstream costs, and the ratio of that to what
// it would cost if nobody read its reports.
func BenchmarkSilent(b *testing.B) {
	const n = 2_000
	var runs, reads time.Duration
	for b.Loop() {
		runs += runSilent(b, n)
		path, began := filepath.Join(b.TempDir(), "a.1.report"), time.Now()
		for range n {
			report.Follow(report.NewReader(path, 0), func(report.Batch) {}).Stop()
		}
		reads += time.Since(began)
	}
	per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(n*max(b.N, 1)) }
	b.ReportMetric(per(runs), "µs/workstream")
	b.ReportMetric(per(reads), "µs/reader")
	b.ReportMetric(float64(runs)/float64(runs-reads), "ratio")
}

// runSilent runs n workstreams that report nothing, and returns how long that took.
func runSilent(b *testing.B, n int) time.Duration {
	b.Helper()
	dir := b.TempDir()
	s, err := checkpoint.OpenStore(filepath.Join(dir, ".runner"), checkpoint.Options{FS: store.NewMemory()})
	if err != nil {
		b.Fatal(err)
	}
	x, err := s.Lock(b.Context(), "PRD-001", state.Actor{})
	if err != nil {
		b.Fatal(err)
	}
	p := parsed(b, []byte("pipeline \"PRD-001\" {\nphase \"all\" {\n"+independent(n)+"}\n}\n"), dir)
	began := time.Now()
	e, err := runner.Build(b.Context(), runner.Options{Pipeline: p, Store: s, Session: x, Executor: instant{}, Workspace: dir, Parallel: 2})
	took := time.Since(began)
	if err != nil || e.Status != state.StatusComplete {
		b.Fatal(e, err)
	}
	if err := x.Close(); err != nil {
		b.Fatal(err)
	}
	return took
}
