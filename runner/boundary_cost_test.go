package runner_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/runner"
)

// boundariesEach is the number of boundaries of a workstream without gates: its start and
// its end.
const boundariesEach = 2

// TestCostOfABoundary: a boundary takes at most one fsync in a chain, and a tenth of one
// if two workstreams run side by side. Its bytes in the journal don't grow with the
// length of the run, except for captures, whose number depends on time. Only tasks and
// fsyncs take time.
func TestCostOfABoundary(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		of        func(n int) string
		few, many int
		fsyncs    float64 // the maximum per boundary
	}{
		{"chain", dependent, 100, 200, 1},
		{"side by side", independent, 100, 2_000, 0.1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			few, many := costOf(t, tt.of(tt.few), runner.CaptureBoundary), costOf(t, tt.of(tt.many), runner.CaptureBoundary)
			boundaries := boundariesEach * float64(tt.many-tt.few) // the boundaries at the beginning and the end cancel out
			if fsyncs := float64(many.fsyncs-few.fsyncs) / boundaries; fsyncs > tt.fsyncs {
				t.Errorf("a boundary takes %.3f fsyncs, want at most %g", fsyncs, tt.fsyncs)
			}
			few, many = costOf(t, tt.of(tt.few), runner.CapturePhase), costOf(t, tt.of(tt.many), runner.CapturePhase)
			if first, later := few.journal/int64(tt.few), many.journal/int64(tt.many); later > first {
				t.Errorf("a workstream takes %d bytes of the journal in a run of %d workstreams, and %d in a run of %d", later, tt.many, first, tt.few)
			}
		})
	}
}

// independent returns n workstreams that do not depend on others.
func independent(n int) string {
	return fmt.Sprintf("workstream \"s\" {\n for_each = toset([for i in range(%d) : format(\"%%04d\", i)])\n command = [\"true\"]\n}\n", n)
}

// dependent returns n workstreams, each of which depends on the one before.
func dependent(n int) string {
	var src strings.Builder
	for i := range n {
		fmt.Fprintf(&src, "workstream \"s%04d\" {\n command = [\"true\"]\n", i)
		if i > 0 {
			fmt.Fprintf(&src, " depends_on = [workstream.s%04d]\n", i-1)
		}
		src.WriteString("}\n")
	}
	return src.String()
}

// cost holds the number of fsyncs of a run, and the size of its journal in bytes.
type cost struct{ fsyncs, journal int64 }

func costOf(t *testing.T, workstreams string, capture runner.CaptureAt) (c cost) {
	t.Helper()
	src := fmt.Appendf(nil, "pipeline \"PRD-001\" {\nphase \"all\" {\n%s}\n}\n", workstreams)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		fsys := &countFiles{FS: store.NewMemory(), took: time.Millisecond}
		s, err := checkpoint.OpenStore(filepath.Join(dir, ".runner"), checkpoint.Options{FS: fsys})
		if err != nil {
			t.Fatal(err)
		}
		x, err := s.Lock(t.Context(), "PRD-001", state.Actor{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := runner.Build(t.Context(), runner.Options{
			Pipeline: parsed(t, src, dir), Store: s, Session: x, Executor: lasting(2 * time.Millisecond), Workspace: dir, Parallel: 2, Capture: capture,
		})
		if err != nil || e.Status != state.StatusComplete {
			t.Fatal(e, err)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		journal, err := fsys.Lstat(filepath.Join(dir, ".runner", "PRD-001", "journal.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		c = cost{fsys.syncs.Load(), journal.Size()}
	})
	return c
}

// lasting is an executor whose tasks succeed after the given time.
type lasting time.Duration

func (l lasting) Run(ctx context.Context, task runner.Task, sink runner.Sink) (runner.Result, error) {
	time.Sleep(time.Duration(l))
	return instant{}.Run(ctx, task, sink)
}
