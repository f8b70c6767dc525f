//go:build unix

package workspace

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// measured reports the shortest run and the processor time in addition to the mean,
// because other programs on the machine disturb these two figures less.
func measured(b *testing.B, do func()) {
	var shortest time.Duration
	before := processorTime(b)
	for b.Loop() {
		began := time.Now()
		do()
		if took := time.Since(began); shortest == 0 || took < shortest {
			shortest = took
		}
	}
	b.ReportMetric(float64(shortest.Milliseconds()), "min-ms/op")
	b.ReportMetric(float64((processorTime(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
}

func processorTime(b *testing.B) time.Duration {
	var used time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		must(b, syscall.Getrusage(who, &usage))
		used += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return used
}

// BenchmarkUnchanged captures 50,000 unchanged files, like a command that was just
// started.
func BenchmarkUnchanged(b *testing.B) {
	fill := func(b *testing.B, dir string) {
		for i := range 50_000 {
			put(b, dir, fmt.Sprintf("files/d%d/e%d/file%d", i%10, i%1000, i), "some")
		}
	}
	o := CaptureOptions{When: time.Unix(1e9, 0), Ref: "refs/runner/bench"}
	again := func(b *testing.B, w *Workspace, o CaptureOptions) {
		first, err := w.Capture(b.Context(), o)
		must(b, err)
		must(b, w.SaveCache())
		o.Last = &first.Capture
		b.Run("capture", func(b *testing.B) {
			measured(b, func() {
				fresh := open(b, w.o)
				c, err := fresh.Capture(b.Context(), o)
				must(b, err)
				if c.Changed {
					b.Fatal("changed")
				}
			})
		})
	}
	b.Run("outside", func(b *testing.B) {
		w, dir := keeper(b)
		fill(b, dir)
		o.Patterns = []string{"files/**"}
		again(b, w, o)
	})
	b.Run("git", func(b *testing.B) {
		w, dir := gitKeeper(b, "", GitRef)
		fill(b, dir)
		runGit(b, dir, "add", "files")
		runGit(b, dir, "commit", "-q", "-m", "all")
		o.Patterns = nil
		again(b, w, o)
		b.Run("git status", func(b *testing.B) {
			measured(b, func() { runGit(b, dir, "status", "--porcelain") })
		})
	})
}
