package checkpoint_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
	"prdrunner/checkpoint/workspace/git/gittest"
)

// BenchmarkWorkTree makes the checkpoints of phases in a repository of 10,000 files, three
// of which change in each phase. It reports how long a boundary takes without asking git
// which files differ from HEAD, how long that takes, and the ratio of the two.
func BenchmarkWorkTree(b *testing.B) {
	ctx, dir := context.Background(), b.TempDir()
	put := func(i, round int) {
		path := filepath.Join(dir, fmt.Sprintf("d%d/e%d/file%d", i%10, i%100, i))
		checkpointtest.Must(b, os.MkdirAll(filepath.Dir(path), 0o755))
		checkpointtest.Must(b, os.WriteFile(path, fmt.Appendf(nil, "file %d of round %d\n", i, round), 0o644))
	}
	for i := range 10_000 {
		put(i, 0)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "all"}} {
		c := exec.Command("git", args...)
		c.Dir = dir
		checkpointtest.Must(b, c.Run())
	}
	s := checkpointtest.On(b, store.OS(), filepath.Join(b.TempDir(), ".runner")).Open()
	g, err := git.Open(ctx, gittest.Commander{}, dir)
	checkpointtest.Must(b, err)
	w, err := s.OpenWorkspace(dir, g, workspace.GitRef)
	checkpointtest.Must(b, err)
	x := checkpointtest.LockPRD(b, s, "PRD-009")
	checkpointtest.Must(b, x.Start(checkpointtest.StartedOf("PRD-009", "S1", 8)))
	var boundary, asked []time.Duration
	for round := 1; b.Loop(); round++ {
		for i := range 3 {
			put(i, round)
		}
		began := time.Now()
		_, err := x.CaptureFor(ctx, w, nil, state.TriggerPhaseTransition)
		checkpointtest.Must(b, err)
		captured := time.Now()
		tree, err := checkpoint.ReadWorkTree(ctx, w, x.State())
		checkpointtest.Must(b, err)
		asked = append(asked, time.Since(captured))
		x.RecordWorkTree(tree)
		x.Checkpoint(state.TriggerPhaseTransition, "", checkpoint.GitOf(ctx, w))
		checkpointtest.Must(b, x.Commit(ctx))
		boundary = append(boundary, time.Since(began)-asked[len(asked)-1])
	}
	median := func(all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[len(all)/2].Microseconds()) / 1000
	}
	b.ReportMetric(median(boundary), "boundary-ms")
	b.ReportMetric(median(asked), "work-tree-ms")
	b.ReportMetric(median(asked)/median(boundary), "ratio")
	checkpointtest.Must(b, x.Close())
	checkpointtest.Must(b, w.Close())
}
