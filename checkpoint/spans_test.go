package checkpoint

import (
	"context"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
)

// sameSpans compares what an owner knows of what was recorded with what the
// journal says.
func sameSpans(t *testing.T, x *Session) {
	t.Helper()
	ctx := context.Background()
	if x.live.Spans.Behind {
		return
	}
	_, err := x.Drain(ctx)
	must(t, err)
	r := &SessionRecord{SessionDir: disk.SessionDir{Dir: x.store.layout.PRDDir(x.prd), PRD: x.prd, Place: disk.PlaceCurrent}, State: x.live.State}
	told := func(recorded func(ever, needed *References) error) (ever map[objectName]int64, dropped map[objectName]bool) {
		all, needed := newReferences(x.store.Objects()), newReferences(x.store.Objects())
		all.shallow, needed.shallow = true, true
		must(t, recorded(all, needed))
		must(t, needed.addState(ctx, r.State))
		for _, ref := range r.State.Checkpoints {
			must(t, needed.addCapture(ctx, ref.Capture))
		}
		dropped = map[objectName]bool{}
		for n := range all.names {
			if _, ok := needed.names[n]; !ok {
				dropped[n] = true
			}
		}
		return all.names, dropped
	}
	ever, dropped := told(func(ever, needed *References) error {
		addSpans(x.live.Spans, r.State.Checkpoints, ever, needed)
		return nil
	})
	wantEver, wantDropped := told(func(ever, needed *References) error {
		return x.store.visitRecorded(ctx, r, ever, needed)
	})
	if !maps.Equal(ever, wantEver) || !maps.Equal(dropped, wantDropped) {
		t.Fatalf("recorded: %s\ndropped: %s", cmp.Diff(wantEver, ever), cmp.Diff(wantDropped, dropped))
	}
}

// A journal that begins with a state does not tell what the checkpoints before
// it hold: what it was compacted from is read for these.
func TestTidyAfterCompaction(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	x := f.lock()
	must(t, x.Start(startedOf("PRD-009", "S1", 2)))
	commit(t, x, state.PhaseStarted{Phase: "all"})
	first := put(t, f.open(), "out", "first")
	produce(t, x, "w0", first)
	old := mark(t, x, state.TriggerManual)
	must(t, x.Close())
	beginAgain(t, f.open())
	x = f.lock()
	produce(t, x, "w0", put(t, f.open(), "out", "second"))
	done, err := x.Tidy(context.Background(), nil)
	must(t, err)
	if done.Collected.Objects != 0 || has(t, f.open(), first) != "1" {
		t.Fatalf("%+v", done)
	}
	_, err = x.Delete(context.Background(), DeleteOptions{References: []string{old}, Force: true})
	must(t, err)
	done, err = x.Tidy(context.Background(), nil)
	must(t, err)
	must(t, x.Close())
	if done.Collected.Objects != 1 || has(t, f.open(), first) != "0" {
		t.Errorf("what only the checkpoint of before had is still there: %+v", done)
	}
}

// A checkpoint needs the capture that the last run made, also where a person
// captured again since: its gates judged that.
func TestSpansOfRunCapture(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	x := f.lock()
	must(t, x.Start(startedOf("PRD-009", "S1", 1)))
	capture(t, x, "as the run left it")
	run := x.State().RunCapture
	commit(t, x, state.SessionFailed{Error: state.Failure{Workstream: "w0", Message: "no"}})
	capture(t, x, "as a person mended it")
	old := mark(t, x, state.TriggerManual)
	if x.State().RunCapture != run || x.State().Capture == run {
		t.Fatalf("captured %+v, by the run %+v", x.State().Capture, x.State().RunCapture)
	}
	commit(t, x, state.SessionResumed{By: by})
	capture(t, x, "as the next run left it")
	mark(t, x, state.TriggerFailure)
	sameSpans(t, x)
	_, err := x.Tidy(context.Background(), nil)
	must(t, err)
	if has(t, f.open(), state.Artifact{Digest: run.Listing}) != "1" {
		t.Error("what the checkpoint's gates judged is gone")
	}
	_, err = x.Delete(context.Background(), DeleteOptions{References: []string{old}, Force: true})
	must(t, err)
	sameSpans(t, x)
	_, err = x.Tidy(context.Background(), nil)
	must(t, err)
	must(t, x.Close())
	if has(t, f.open(), state.Artifact{Digest: run.Listing}) != "0" {
		t.Error("what nothing needs any more is still there")
	}
}
