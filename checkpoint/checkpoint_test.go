package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// TestDeferredCheckpointsFollow makes 16 checkpoints and writes no checkpoint files. Each
// checkpoint that retention keeps must be readable from the journal. After WriteDerived
// exactly the kept ones must have files, and the manifest must list them.
func TestDeferredCheckpointsFollow(t *testing.T) {
	t.Parallel()
	checkpointtest.EachForm(t, testDeferredCheckpointsFollow)
}

func testDeferredCheckpointsFollow(t *testing.T, f *checkpointtest.Fixture) {
	x := f.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S1", checkpointtest.Wide(8))))
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
	var ids []string
	wanted := map[string]*state.State{}
	for i := range 8 {
		x.Add(boundary(i)...)
		id, made := x.Checkpoint(state.TriggerBatchComplete, "", nil)
		if !made {
			t.Fatal("no checkpoint was made")
		}
		other, _ := x.Checkpoint(state.TriggerWorkstreamComplete, "", nil)
		checkpointtest.Commit(t, x)
		checkpointtest.Must(t, x.WriteDocument(context.Background()))
		ids = append(ids, id, other)
		wanted[id], wanted[other] = x.State().Clone(), x.State().Clone()
	}
	if ids, err := f.Checkpoints().IDs(); err != nil || len(ids) != 0 {
		t.Errorf("files before WriteDerived: %v, %v", ids, err)
	}
	// Checkpoints without a file are made from the journal.
	cp, err := f.Open().ReadCheckpoint("PRD-009", ids[13])
	if !errors.Is(err, state.ErrNoCheckpoint) {
		t.Errorf("read a checkpoint that is no longer kept: %+v, %v", cp, err)
	}
	for _, id := range []string{ids[10], ids[12], ids[14], ids[15]} { // retention keeps the last 3 of one trigger and the last 1 of the other
		cp, err := f.Open().ReadCheckpoint("PRD-009", id)
		checkpointtest.Must(t, err)
		checkpointtest.Same(t, id, cp.State, wanted[id])
	}
	x.Add(state.SessionInterrupted{Signal: "SIGINT"})
	last, _ := x.Checkpoint(state.TriggerUserInterrupt, "SIGINT", &state.Git{Branch: "main", Commit: "c0ffee"})
	checkpointtest.Commit(t, x)
	checkpointtest.Must(t, x.WriteDerived(context.Background()))
	files, err := f.Checkpoints().IDs()
	checkpointtest.Must(t, err)
	want := []string{ids[10], ids[12], ids[14], ids[15], last}
	slices.Sort(want)
	if !slices.Equal(files, want) {
		t.Errorf("files of %q, want %q", files, want)
	}
	for _, id := range []string{ids[10], ids[15]} {
		cp, err := f.Open().ReadCheckpoint("PRD-009", id)
		checkpointtest.Must(t, err)
		checkpointtest.Same(t, id, cp.State, wanted[id])
	}
	m, err := f.Open().Layout().ReadManifest(f.Open().Layout().PRDDir("PRD-009"))
	checkpointtest.Must(t, err)
	if m.Latest != last || m.Current != last || m.Total != 5 || m.Topic != "Cashier Workflows" || m.Seq != x.Durable() {
		t.Errorf("manifest %+v", m)
	}
	checkpointtest.Must(t, x.Close())

	// Retention keeps one checkpoint of an interrupt: the second replaces the first.
	x = f.Lock()
	checkpointtest.Commit(t, x, state.SessionResumed{})
	x.Checkpoint(state.TriggerUserInterrupt, "", nil)
	checkpointtest.Commit(t, x)
	checkpointtest.Must(t, x.WriteDerived(context.Background()))
	if len(f.FilesOf(last)) > 0 {
		t.Error("the file of a checkpoint that is no longer kept still exists")
	}
	checkpointtest.Must(t, x.Close())
}

// TestKilledBeforeDeferredFiles kills an owner before the owner writes the file of a
// checkpoint. The next owner must write the file, with the state at which the checkpoint
// was made.
func TestKilledBeforeDeferredFiles(t *testing.T) {
	t.Parallel()
	checkpointtest.EachForm(t, testKilledBeforeDeferredFiles)
}

func testKilledBeforeDeferredFiles(t *testing.T, f *checkpointtest.Fixture) {
	x := f.Run()
	id, _ := x.Checkpoint(state.TriggerBatchComplete, "", nil)
	checkpointtest.Commit(t, x)
	want := x.State().Clone()
	checkpointtest.Kill(t, x)
	x = f.Lock()
	checkpointtest.Commit(t, x, state.SessionResumed{})
	checkpointtest.Must(t, x.Close())
	stored, err := f.Checkpoints().Read(id)
	checkpointtest.Must(t, err)
	cp, err := stored.Decode()
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "state", cp.State, want)
	checkpointtest.Same(t, "files", cp.Files, state.Files{Created: []state.Text{"a.sql", "b.ts"}, Modified: []state.Text{}})
	if cp.Recovery.ResumeFrom != "WS2" || !cp.Recovery.CanResume {
		t.Errorf("recovery %+v", cp.Recovery)
	}
}

// TestFilesOfAStep: a checkpoint must count the files that the last completed step
// created and modified, and so must the next checkpoint without a step in between.
func TestFilesOfAStep(t *testing.T) {
	t.Parallel()
	x := checkpointtest.InMemory(t).Run()
	x.Checkpoint(state.TriggerManual, "", nil)
	checkpointtest.Commit(t, x)
	again := checkpointtest.Work("WS1", "schema-validation", "a.sql", "new.sql")
	w := again[1].(state.WorkstreamSucceeded)
	w.Work.Artifacts[0].Digest = "sha256:changed"
	again[1] = w
	checkpointtest.Commit(t, x, again...)
	x.Checkpoint(state.TriggerManual, "", nil)
	x.Checkpoint(state.TriggerManual, "", nil)
	checkpointtest.Commit(t, x)
	var got [][2]int
	for _, ref := range x.State().Checkpoints {
		got = append(got, [2]int{ref.Created, ref.Modified})
	}
	if want := [][2]int{{2, 0}, {1, 1}, {1, 1}}; !slices.Equal(got, want) {
		t.Errorf("created and modified %v, want %v", got, want)
	}
	checkpointtest.Must(t, x.Close())
}

// TestStepOfACommit makes a checkpoint in the same commit as the event that completes a
// step after it. The checkpoint must have the step number and name of the state that it
// restores.
func TestStepOfACommit(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Run() // WS1 is completed
	before, _ := x.Checkpoint(state.TriggerManual, "", nil)
	checkpointtest.Commit(t, x)
	events := checkpointtest.Work("WS2", "type-check", "c.ts")
	checkpointtest.Commit(t, x, events[:3]...)
	x.Add(events[3])
	gate, _ := x.Checkpoint(state.TriggerGatePassed, "", nil)
	checkpointtest.Commit(t, x, events[4])
	checkpointtest.Must(t, x.WriteDerived(context.Background()))
	check := func(s *state.State) {
		t.Helper()
		for id, want := range map[string]int{before: 1, gate: 2} {
			ref, err := s.FindCheckpoint(strconv.Itoa(want))
			checkpointtest.Must(t, err)
			cp, err := f.Open().ReadCheckpoint("PRD-009", id)
			checkpointtest.Must(t, err)
			name := fmt.Sprintf("WS%d", want)
			if ref.ID != id || ref.StepName != name || cp.Step != want || cp.StepName != name || cp.State.Steps != want {
				t.Errorf("step %d leads to %s (%s); the file of %s has %d (%s)", want, ref.ID, ref.StepName, id, cp.Step, cp.StepName)
			}
		}
	}
	check(x.State())
	checkpointtest.Must(t, x.Close())
	snap, err := f.Open().Load("PRD-009")
	checkpointtest.Must(t, err)
	check(snap.State)
}

// TestDamagedCheckpoint flips a bit of every 7th byte of a checkpoint file; reading it
// must report damage. A file of a newer version must be refused and left unchanged. If
// its checksum is wrong, the file counts as damaged.
func TestDamagedCheckpoint(t *testing.T) {
	t.Parallel()
	checkpointtest.EachForm(t, testDamagedCheckpoint)
}

func testDamagedCheckpoint(t *testing.T, f *checkpointtest.Fixture) {
	x := f.Run()
	id, _ := x.Checkpoint(state.TriggerManual, "", nil)
	checkpointtest.Must(t, x.Close())
	path := f.Checkpoints().FilePath(id)
	good := f.Read(f.CheckpointFile(id))
	whole, err := f.Checkpoints().Read(id)
	checkpointtest.Must(t, err)
	for i := 0; i < len(good); i += 7 {
		bad := bytes.Clone(good)
		bad[i] ^= 0x01
		checkpointtest.Must(t, store.WriteFile(f.FS, path, bad))
		_, err := f.Open().ReadCheckpoint("PRD-009", id)
		if read, _ := f.Checkpoints().Read(id); err == nil && bytes.Equal(read.JSON, whole.JSON) && !bytes.Equal(good, whole.JSON) {
			continue // an unused bit of the compressed form
		}
		var damaged *state.DamagedError
		var version *state.VersionError
		if !errors.As(err, &damaged) && !errors.As(err, &version) {
			t.Fatalf("byte %d flipped: %v", i, err)
		}
	}
	checkpointtest.Must(t, store.WriteFile(f.FS, path, good))
	stored, err := f.Checkpoints().Read(id)
	checkpointtest.Must(t, err)
	newer := bytes.Replace(stored.JSON, []byte(`{"format_version":"`+state.FormatVersion+`"`), []byte(`{"format_version":"7.0"`), 1)
	checkpointtest.Must(t, f.Checkpoints().Replace(stored, newer))
	var madeUp *state.DamagedError
	if _, err := f.Open().ReadCheckpoint("PRD-009", "latest"); !errors.As(err, &madeUp) || !strings.Contains(err.Error(), "rebuild") {
		t.Errorf("newer version with a wrong checksum: %v", err)
	}
	newer = state.Seal(append(newer[:bytes.LastIndex(newer, []byte(state.ChecksumField))], '}'))
	checkpointtest.Must(t, f.Checkpoints().Replace(stored, newer))
	written := f.Read(f.CheckpointFile(id))
	var version *state.VersionError
	if _, err := f.Open().ReadCheckpoint("PRD-009", "latest"); !errors.As(err, &version) || version.Path != path {
		t.Errorf("newer version: %v", err)
	}
	if !bytes.Equal(f.Read(f.CheckpointFile(id)), written) {
		t.Error("the file of a newer version was changed")
	}
}

// TestResolveCheckpoint: FindCheckpoint must find a checkpoint by `latest`, `latest~N`, a
// step number, its id, or an unambiguous beginning of its id.
func TestResolveCheckpoint(t *testing.T) {
	t.Parallel()
	refs := []*state.CheckpointRef{
		{ID: "CP-init-20250101T000000Z-aaaa0000", Step: 0, Valid: true},
		{ID: "CP-db-20250101T000001Z-bbbb0000", Step: 1, Valid: true},
		{ID: "CP-db-20250101T000002Z-bbbb1111", Step: 1, Valid: true},
		{ID: "CP-db-20250101T000003Z-cccc0000", Step: 2, InvalidatedBy: "RB-1"},
	}
	for ref, want := range map[string]string{
		"latest": "bbbb1111", "latest~0": "bbbb1111", "latest~2": "aaaa0000", "latest~3": "", "latest~-1": "", "latest-1": "",
		"1": "bbbb0000", "0": "aaaa0000", "2": "", "CP-init": "aaaa0000", "CP-db-20250101T000003Z-cccc0000": "cccc0000",
		"CP-db-20250101T000001": "bbbb0000", "": "", "nope": "",
	} {
		got, err := (&state.State{Checkpoints: refs}).FindCheckpoint(ref)
		switch {
		case want == "" && !errors.Is(err, state.ErrNoCheckpoint), want != "" && (err != nil || !strings.HasSuffix(got.ID, want)):
			t.Errorf("%q: %+v, %v", ref, got, err)
		}
	}
	var ambiguous *state.AmbiguousError
	if _, err := (&state.State{Checkpoints: refs}).FindCheckpoint("CP-db"); !errors.As(err, &ambiguous) || len(ambiguous.Candidates) != 3 {
		t.Errorf("ambiguous: %v", err)
	}
}

// TestReferencesToDamage: a step number must name the first checkpoint of that step, even
// if it is damaged. `latest` must name a damaged checkpoint only if no valid one exists.
// State.Names must return names that lead back to their checkpoints.
func TestReferencesToDamage(t *testing.T) {
	t.Parallel()
	damage := &state.Damage{Reason: "gone"}
	some := &state.State{Checkpoints: []*state.CheckpointRef{
		{ID: "start", Step: 0, Valid: true}, {ID: "early", Step: 2, Damage: damage}, {ID: "late", Step: 2, Valid: true},
		{ID: "undo", Step: 3, Trigger: state.TriggerPreRollback, Valid: true},
	}}
	all := &state.State{Checkpoints: []*state.CheckpointRef{{ID: "start", Step: 0, Damage: damage}, {ID: "early", Step: 2, Damage: damage}}}
	for _, test := range []struct {
		state     *state.State
		ref, want string
		says      string
	}{
		{some, "2", "early", ""},
		{some, "latest", "late", ""},
		{some, "latest~1", "start", ""},
		{some, "latest~2", "", "2 are valid"},
		{some, "1", "", "there is none of step 1, only of 0, 2"},
		{some, "3", "", "there is none of step 3, only of 0, 2"},
		{all, "latest", "early", ""},
		{all, "latest~1", "start", ""},
		{all, "latest~2", "", "0 are valid"},
		{&state.State{}, "1", "", "nor of any other step"},
	} {
		got, err := test.state.FindCheckpoint(test.ref)
		switch {
		case test.want != "" && (err != nil || got.ID != test.want):
			t.Errorf("%s: %+v, %v; want %s", test.ref, got, err, test.want)
		case test.want == "" && (!errors.Is(err, state.ErrNoCheckpoint) || !strings.Contains(err.Error(), test.says)):
			t.Errorf("%s: %+v, %v; want an error with %q", test.ref, got, err, test.says)
		}
	}
	for want, s := range map[string]*state.State{"start=0 early=2 late=latest~0 undo=": some, "start=0 early=2": all} {
		var got []string
		for _, ref := range s.Checkpoints {
			name := s.Names()[ref.ID]
			got = append(got, ref.ID+"="+name)
			if found, err := s.FindCheckpoint(name); name != "" && (err != nil || found != ref) {
				t.Errorf("%s leads to %+v, %v; want %s", name, found, err, ref.ID)
			}
		}
		if names := strings.Join(got, " "); names != want {
			t.Errorf("names %s, want %s", names, want)
		}
	}
}

// TestPolicy: a disabled policy must make no checkpoints, and a policy that is not
// automatic only mandatory ones. Any other policy must make all except those whose
// trigger is switched off and not mandatory.
func TestPolicy(t *testing.T) {
	t.Parallel()
	off := checkpoint.DefaultPolicy()
	off.Enabled = false
	manual := checkpoint.DefaultPolicy()
	manual.Auto = false
	quiet := checkpoint.DefaultPolicy()
	quiet.Triggers[state.TriggerPause], quiet.Triggers[state.TriggerStart], quiet.Triggers[state.TriggerGatePassed] = false, false, false
	for _, tt := range []struct {
		name    string
		p       checkpoint.Policy
		trigger state.Trigger
		want    bool
	}{
		{"default", checkpoint.DefaultPolicy(), state.TriggerGatePassed, true},
		{"default, not listed", checkpoint.DefaultPolicy(), state.TriggerPause, true},
		{"disabled", off, state.TriggerFailure, false},
		{"not automatic", manual, state.TriggerPhaseTransition, false},
		{"not automatic", manual, state.TriggerManual, true},
		{"not automatic", manual, state.TriggerFailure, true},
		{"switched off", quiet, state.TriggerPause, false},
		{"switched off", quiet, state.TriggerGatePassed, false},
		{"mandatory", quiet, state.TriggerStart, true},
	} {
		if got := tt.p.Wants(tt.trigger); got != tt.want {
			t.Errorf("%s: %s %t", tt.name, tt.trigger, got)
		}
	}
	if (checkpoint.Policy{}).Wants(state.TriggerStart) || !(checkpoint.Policy{}).IsZero() || off.IsZero() {
		t.Error("the zero policy makes checkpoints, or IsZero is wrong")
	}
}

// TestDisabledPolicyWritesNone: with checkpoints disabled, no checkpoint is made, and
// neither checkpoints/, the manifest nor `latest` is written.
func TestDisabledPolicyWritesNone(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	f.Options.Policy = checkpoint.DefaultPolicy()
	f.Options.Policy.Enabled = false
	x := f.Run()
	if _, made := x.Checkpoint(state.TriggerFailure, "", nil); made {
		t.Error("a disabled policy made a checkpoint")
	}
	checkpointtest.Must(t, x.Close())
	for _, name := range []string{"checkpoints", "manifest.json", "latest"} {
		if _, err := f.FS.Lstat(filepath.Join(f.Dir, "PRD-009", name)); err == nil {
			t.Errorf("%s exists", name)
		}
	}
	if refs, err := f.Open().Checkpoints("PRD-009"); err != nil || refs == nil || len(refs) != 0 {
		t.Errorf("checkpoints %v, %v", refs, err)
	}
}

// TestWhatIsDueStaysShort makes 100 checkpoints and writes no checkpoint files. The
// session must remember only the commits from which the checkpoints that retention keeps
// are made, here one.
func TestWhatIsDueStaysShort(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	x := f.Lock()
	checkpointtest.Must(t, x.Start(checkpointtest.Started("S1", checkpointtest.Wide(100))))
	checkpointtest.Commit(t, x, state.PhaseStarted{Phase: "all"})
	for i := range 100 {
		x.Add(boundary(i)...)
		x.Checkpoint(state.TriggerWorkstreamComplete, "", nil)
		checkpointtest.Commit(t, x)
		checkpointtest.Must(t, x.WriteDocument(context.Background()))
		if n := x.Unwritten().Since; n > 1 {
			t.Fatalf("%d commits are remembered after %d boundaries", n, i+1)
		}
	}
	checkpointtest.Must(t, x.WriteDerived(context.Background()))
	refs := x.State().Checkpoints
	file, err := x.Store().ReadCheckpoint(x.PRD(), "latest")
	checkpointtest.Must(t, err)
	if last := refs[len(refs)-1]; file.ID != last.ID || file.State.Seq != last.Seq || file.State.Steps != 100 {
		t.Errorf("the newest file is %s of commit %d, with %d steps", file.ID, file.State.Seq, file.State.Steps)
	}
	checkpointtest.Must(t, x.Close())
}
