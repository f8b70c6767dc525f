package view

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// TestSayLeft: an estimate is rounded to the nearest value that it can promise, and the last seconds are not counted.
func TestSayLeft(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Millisecond:        "a few seconds left",
		4900 * time.Millisecond: "a few seconds left",
		5 * time.Second:         "about 5s left",
		5100 * time.Millisecond: "about 5s left",
		8 * time.Second:         "about 10s left",
		41 * time.Second:        "about 40s left",
		58 * time.Second:        "about 1m left",
		time.Minute:             "about 1m left",
		61 * time.Second:        "about 1m left",
		100 * time.Second:       "about 2m left",
		3 * time.Minute:         "about 3m left",
		59*time.Minute + 40e9:   "about 1h left",
		62 * time.Minute:        "about 1h left",
		63 * time.Minute:        "about 1h 5m left",
	} {
		if got := sayLeft(d); got != want {
			t.Errorf("%s is shown as %q, want %q", d, got, want)
		}
	}
}

// TestLeftIsShown: what is left is read and shown once a run has gone on for a while, and counts down. The end
// of the view ends the reading.
func TestLeftIsShown(t *testing.T) {
	t.Parallel()
	file, diags := pipeline.Parse([]byte(`
pipeline "PRD-001" {
  phase "one" {
    workstream "unit" { command = ["true"] }
  }
}`), "PRD-001.hcl")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	known, diags := file.Pipeline(pipeline.Inputs{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	beginning := runner.Beginning{
		PRD: "PRD-001", Session: "s-1", Parallel: 4, Pipeline: func() *pipeline.Pipeline { return known },
		Plan: &plan.Plan{Phases: []plan.Phase{{Name: "one", Number: 1, Steps: []plan.Step{{Kind: plan.WorkstreamStep, Name: "unit", Decision: plan.Run}}}}},
	}
	synctest.Test(t, func(t *testing.T) {
		out, reads := &shown{}, atomic.Int64{}
		v := New(Auto, Options{Out: out, Size: func() (int, int) { return 80, 24 }, Typical: func(_ context.Context, _ string) map[string]time.Duration {
			reads.Add(1)
			return map[string]time.Duration{"unit": 3 * time.Minute}
		}})
		v.Begin(beginning)
		v.Commit(state.Commit{Time: time.Now(), Events: append(started("unit"), state.PhaseStarted{Phase: "one"})})
		time.Sleep(estimateAfter / 2)
		synctest.Wait()
		if got := out.take(); reads.Load() != 0 || strings.Contains(got, "left") {
			t.Errorf("a run that has just begun reads %d times, and shows %q", reads.Load(), got)
		}
		time.Sleep(estimateAfter)
		synctest.Wait()
		if got := out.take(); reads.Load() != 1 || !strings.Contains(got, "about 3m left  1 running") {
			t.Errorf("after %d reads, it shows %q", reads.Load(), got)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := out.take(); reads.Load() != 1 || !strings.Contains(got, "about 1m left") || strings.HasSuffix(got, "about 3m left") {
			t.Errorf("after %d reads, it shows %q", reads.Load(), got)
		}
		v.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		out, reads := &shown{}, atomic.Int64{}
		v := New(Plain, Options{Out: out, Heartbeat: 30 * time.Second, Typical: func(_ context.Context, session string) map[string]time.Duration {
			if reads.Add(1); session != "s-1" {
				t.Errorf("the session that runs is %q", session)
			}
			return map[string]time.Duration{"unit": 3 * time.Minute}
		}})
		v.Begin(beginning)
		v.Commit(state.Commit{Time: time.Now(), Events: append(started("unit"), state.PhaseStarted{Phase: "one"})})
		time.Sleep(estimateAfter / 2)
		synctest.Wait()
		if out.take(); reads.Load() != 0 {
			t.Error("a plain view of a run that has just begun reads")
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if got := out.take(); reads.Load() != 1 || !strings.Contains(got, "… 0 of 1 done; about 3m left; unit runs for 30s") {
			t.Errorf("after %d reads, the plain view says %q", reads.Load(), got)
		}
		v.End(runner.Ending{Status: state.StatusComplete})
		v.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		v := New(Auto, Options{Out: &shown{}, Size: func() (int, int) { return 80, 24 }, Typical: func(ctx context.Context, _ string) map[string]time.Duration {
			<-ctx.Done()
			return nil
		}})
		v.Begin(beginning)
		time.Sleep(2 * estimateAfter)
		v.Close()
	})
}
