package runner_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
	"prdrunner/runner"
	"prdrunner/runner/view"
)

// instant is an executor whose tasks end at once and succeed, except for `false`.
type instant struct{}

func (instant) Run(_ context.Context, task runner.Task, _ runner.Sink) (runner.Result, error) {
	r := runner.Result{Outcome: runner.Exited}
	if slices.Equal(task.Command, []string{"false"}) {
		r.ExitCode = 1
	}
	return r, nil
}

// BenchmarkPlanDone plans to resume a session in which 10,000 workstreams are done. Like
// the command "runner plan", each iteration reads the pipeline and the journal.
func BenchmarkPlanDone(b *testing.B) {
	const n = 10_000
	var blocks bytes.Buffer
	for i := range n {
		fmt.Fprintf(&blocks, "workstream \"w%d\" {\n command = [\"true\"]\n}\n", i)
	}
	for _, c := range []struct{ name, workstreams string }{
		{"for_each", fmt.Sprintf("workstream \"w\" {\n for_each = toset([for i in range(%d) : tostring(i)])\n command = [\"true\"]\n}\n", n)},
		{"blocks", blocks.String()},
	} {
		src := fmt.Appendf(nil, "pipeline \"PRD-001\" {\nphase \"all\" {\n%s}\nphase \"last\" {\n workstream \"fails\" { command = [\"false\"] }\n}\n}\n", c.workstreams)
		b.Run(c.name, func(b *testing.B) { planDone(b, src) })
	}
}

func planDone(b *testing.B, src []byte) {
	ctx, dir := context.Background(), b.TempDir()
	s, err := checkpoint.OpenStore(filepath.Join(dir, ".runner"), checkpoint.Options{})
	if err != nil {
		b.Fatal(err)
	}
	session, err := s.Lock(ctx, "PRD-001", state.Actor{})
	if err != nil {
		b.Fatal(err)
	}
	o := runner.Options{Pipeline: parsed(b, src, dir), Store: s, Session: session, Executor: instant{}, Workspace: dir, Parallel: 2}
	if e, err := runner.Build(ctx, o); err != nil || e.Status != state.StatusFailed {
		b.Fatal(e, err)
	}
	if err := session.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		o := runner.Options{Pipeline: parsed(b, src, dir), Store: s, Workspace: dir}
		snap, err := s.Load("PRD-001")
		if err != nil {
			b.Fatal(err)
		}
		plan, err := runner.Preview(ctx, o, snap.State)
		if err != nil || plan.ResumeFrom != 2 {
			b.Fatal(plan.ResumeFrom, err)
		}
		if err := view.WritePlan(io.Discard, plan, view.PlanOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func parsed(b testing.TB, src []byte, dir string) *pipeline.Pipeline {
	file, _ := pipeline.Parse(src, "PRD-001.hcl")
	p, diags := file.Pipeline(pipeline.Inputs{Workspace: dir})
	if diags.HasErrors() {
		b.Fatal(diags)
	}
	return p
}
