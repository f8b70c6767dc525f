package change_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/transfer"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/show"
)

const prd = "PRD-009"

// place is a session and its workspace, whose state is in memory.
type place struct {
	*checkpointtest.Project
	env    *cli.Environment
	stderr *bytes.Buffer
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := emptyPlace(t)
	p.Begin("s1")
	return p
}

func emptyPlace(t *testing.T) *place {
	t.Helper()
	p := &place{Project: checkpointtest.NewProject(t, store.NewMemory()), stderr: &bytes.Buffer{}}
	p.env = &cli.Environment{
		CommandLine: advice.CommandLine{Workdir: p.Root}, Environ: []string{"PATH=" + os.Getenv("PATH")}, Now: time.Now,
		Stderr: show.NewScreen(p.stderr), IsTerminal: func(any) bool { return false },
	}
	return p
}

func (p *place) target() *change.Target {
	return &change.Target{Env: p.env, Store: p.Open(), PRD: prd}
}

// cutShort begins a rollback to the first checkpoint and does not finish it.
func (p *place) cutShort() (to string) {
	p.T.Helper()
	s := p.Open()
	x := checkpointtest.LockPRD(p.T, s, prd)
	first := x.State().Checkpoints[0]
	safety := p.Capture(x, p.Workspace(s), state.TriggerPreRollback)
	checkpointtest.Commit(p.T, x, state.RollbackStarted{
		ID: "R1", To: first.ID, ToSeq: first.Seq, ToStep: first.Step, Safety: safety, Scope: state.RollbackAll, By: checkpointtest.By,
	})
	checkpointtest.Must(p.T, x.Close())
	return first.ID
}

// audited returns the last record of the audit log.
func (p *place) audited() string {
	p.T.Helper()
	lines := strings.Split(strings.TrimSpace(string(p.Read("audit.log"))), "\n")
	return lines[len(lines)-1]
}

// TestChange: a change is made under the lock, recorded, and leaves the session unlocked,
// whatever comes of it.
func TestChange(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	no := errors.New("no")
	for name, want := range map[string]error{"done": nil, "failed": no} {
		record := checkpoint.AuditRecord{What: "test " + name}
		called := false
		err := p.target().Change(t.Context(), &record, func(x *checkpoint.Session) error {
			called = true
			_, locked := p.Open().Lock(t.Context(), prd, checkpointtest.By)
			if !advice.IsA[*checkpoint.LockedError](locked) {
				t.Errorf("it is not locked: %v", locked)
			}
			return want
		})
		if !called || !errors.Is(err, want) || record.Session != "s1" || record.PRD != prd {
			t.Errorf("%s: %v, %+v", name, err, record)
		}
		if line := p.audited(); !strings.Contains(line, "test "+name) {
			t.Errorf("the audit log says %s", line)
		}
		checkpointtest.Must(t, checkpointtest.LockPRD(t, p.Open(), prd).Close())
	}
	x := checkpointtest.LockPRD(t, p.Open(), prd)
	err := p.target().Change(t.Context(), &checkpoint.AuditRecord{}, func(*checkpoint.Session) error { return nil })
	if hint := advice.Of(advice.CommandLine{}, "", err); !strings.HasPrefix(hint, "`runner status PRD-009`") {
		t.Errorf("of a locked session: %v, hint %q", err, hint)
	}
	checkpointtest.Must(t, x.Close())

	failing := p.target()
	failing.Finish = func(context.Context, *checkpoint.Session) (*change.FinishedRollback, error) { return nil, no }
	if _, _, err := failing.Lock(t.Context()); !errors.Is(err, no) {
		t.Errorf("what can't be finished: %v", err)
	}
	checkpointtest.Must(t, checkpointtest.LockPRD(t, p.Open(), prd).Close())

	checkpointtest.Must(t, p.FS.Remove(filepath.Join(p.Dir, "audit.log")))
	checkpointtest.Must(t, store.MkdirAll(p.FS, filepath.Join(p.Dir, "audit.log")))
	err = p.target().Change(t.Context(), &checkpoint.AuditRecord{}, func(*checkpoint.Session) error { t.Error("it is changed, and not recorded"); return nil })
	if err == nil {
		t.Error("no error without an audit log")
	}
	checkpointtest.Must(t, p.FS.Remove(filepath.Join(p.Dir, "audit.log")))
	checkpointtest.Must(t, checkpointtest.LockPRD(t, p.Open(), prd).Close())
}

// TestAsk: a request to a session without an owner is carried out at once, and recorded
// with what it names and makes.
func TestAsk(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	request := checkpoint.Request{Verb: checkpoint.VerbCreate, PRD: prd, By: checkpointtest.By, Comment: "why"}
	var id string
	err := p.target().Ask(t.Context(), request, func(x *checkpoint.Session, done *change.FinishedRollback) error {
		ref, err := x.Create(t.Context(), nil, "why")
		if err == nil {
			id = ref.ID
		}
		return errors.Join(err, done.RefuseToLeave(p.env))
	})
	if err != nil || !strings.Contains(p.audited(), id) || !strings.Contains(p.audited(), `"s1"`) {
		t.Errorf("%v: %s", err, p.audited())
	}
	newest, err := change.NewestManualCheckpoint(p.Open(), prd)
	if err != nil || newest.ID != id {
		t.Errorf("the newest is %v, want %s: %v", newest, id, err)
	}
	request = checkpoint.Request{Verb: checkpoint.VerbResolve, PRD: prd, Workstream: "WS2", Resolution: "done", By: checkpointtest.By}
	err = p.target().Ask(t.Context(), request, func(*checkpoint.Session, *change.FinishedRollback) error { return nil })
	if line := p.audited(); err != nil || !strings.Contains(line, `["WS2","done"]`) || strings.Contains(line, id) {
		t.Errorf("%v: %s", err, line)
	}
	fresh := newPlace(t)
	x := checkpointtest.LockPRD(t, fresh.Open(), "PRD-010")
	checkpointtest.Must(t, x.Start(checkpointtest.StartedOf("PRD-010", "s2", 1)))
	only := checkpointtest.Mark(t, x, state.TriggerManual)
	checkpointtest.Must(t, x.Close())
	if newest, err := change.NewestManualCheckpoint(fresh.Open(), "PRD-010"); err != nil || newest.ID != only {
		t.Errorf("the only one: %v, %v", newest, err)
	}
	if _, err := change.NewestManualCheckpoint(fresh.Open(), prd); !errors.Is(err, state.ErrNoCheckpoint) {
		t.Errorf("without one: %v", err)
	}
}

// TestFinishInterrupted: a rollback that was cut short is finished before anything else,
// and what was edited since is kept in a checkpoint.
func TestFinishInterrupted(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]bool{"as it was": false, "edited": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			done, err := p.target().FinishInterrupted(t.Context())
			if err != nil || done != nil || p.stderr.Len() > 0 || done.KeptIDs() != nil || done.Matches(&rollback.Plan{}) {
				t.Fatalf("with nothing to finish: %+v, %v, %s", done, err, p.stderr)
			}
			to := p.cutShort()
			st := p.State()
			if after := change.StateAfterFinish(t.Context(), p.Open(), st); after.Status == st.Status || after.Rollback != nil {
				t.Errorf("it will be %s", after.Status)
			}
			if edit {
				p.Save("gen/a.txt", "edited")
			}
			done, err = p.target().FinishInterrupted(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if p.State().Rollback != nil || done.Result.To != to || len(done.KeptIDs()) > 0 != edit {
				t.Errorf("%+v, kept %q", done.Result, done.KeptIDs())
			}
			if _, err := os.Stat(filepath.Join(p.Root, "gen", "a.txt")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the file of the workstream stays: %v", err)
			}
			said := p.stderr.String()
			if !strings.Contains(said, "A rollback of PRD-009 to "+to+" was cut short; finishing it first\n") || !strings.Contains(said, "Rolled back to "+to+": ") ||
				strings.Contains(said, "The files edited since then are in checkpoint") != edit {
				t.Errorf("it says %s", said)
			}
			record := p.audited()
			if !strings.Contains(record, "checkpoint rollback (finish)") || edit && !strings.Contains(record, done.KeptIDs()[0]) {
				t.Errorf("the audit log says %s", record)
			}
			err = done.RefuseToLeave(p.env)
			if advice.IsA[*change.KeptEditsError](err) != edit || edit && !strings.Contains(err.Error(), done.KeptIDs()[0]) {
				t.Errorf("to leave it: %v", err)
			}
			for scope, want := range map[state.RollbackScope]bool{state.RollbackAll: true, state.RollbackFiles: false} {
				if got := done.Matches(&rollback.Plan{Target: &state.CheckpointRef{ID: to}, Scope: scope}); got != want {
					t.Errorf("it is the planned one of %s: %v", scope, got)
				}
			}
			if done.Matches(&rollback.Plan{Target: &state.CheckpointRef{ID: "C9"}, Scope: state.RollbackAll}) {
				t.Error("it is one to another checkpoint")
			}
			st = p.State()
			if after := change.StateAfterFinish(t.Context(), p.Open(), st); after != st {
				t.Errorf("nothing is left to finish, and it will be %+v", after)
			}
		})
	}
}

// TestFinishImport: an import that was cut short is finished before anything else. The
// files that it overwrites are kept in a checkpoint.
func TestFinishImport(t *testing.T) {
	t.Parallel()
	archive := checkpointtest.Exported(newPlace(t).Project)
	for name, test := range map[string]struct {
		overwrite, gone bool
		want            string
	}{
		"nothing in the way": {false, false, "Imported: 3 files written, 0 files left as they are\n"},
		"left as it is":      {false, false, "Imported: 2 files written, 1 file left as they are\n"},
		"overwritten":        {true, false, "Imported: 3 files written, 0 files left as they are\nThe overwritten files are in checkpoint "},
		"its commit is gone": {false, true, "! The import from it.tar was cut short, and cannot be finished"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := emptyPlace(t)
			if name != "nothing in the way" {
				p.Save("gen/a.txt", "another")
			}
			s := p.Open()
			i, err := transfer.OpenImport(t.Context(), s, bytes.NewReader(archive), "it.tar", bundle.Limits{})
			checkpointtest.Must(t, err)
			o := transfer.PlaceOptions{Overwrite: test.overwrite}
			o.Files, err = i.PlanFiles(t.Context(), p.Workspace(s))
			checkpointtest.Must(t, err)
			_, err = i.Place(t.Context(), checkpointtest.By, o)
			checkpointtest.Must(t, errors.Join(err, i.Close()))
			if test.gone {
				p.loseCommits()
			}
			done, err := p.target().FinishInterrupted(t.Context())
			said := p.stderr.String()
			if err != nil || done != nil || !strings.Contains(said, "The import of PRD-009 from it.tar was cut short; finishing it first\n") || !strings.Contains(said, test.want) ||
				strings.Contains(said, "The overwritten files") != test.overwrite || strings.Contains(said, "Imported: ") == test.gone {
				t.Errorf("%v, it says %s", err, said)
			}
			record := p.audited()
			if !strings.Contains(record, "checkpoint import (finish)") || strings.Contains(record, `"ids"`) != test.overwrite || strings.Contains(record, "given up") != test.gone {
				t.Errorf("the audit log says %s", record)
			}
			p.stderr.Reset()
			if _, err := p.target().FinishInterrupted(t.Context()); err != nil || p.stderr.Len() > 0 {
				t.Errorf("once more: %v, %s", err, p.stderr)
			}
		})
	}
}

// loseCommits starts the journal over, and leaves the note of an import, as if that had
// been cut short, too.
func (p *place) loseCommits() {
	p.T.Helper()
	const journal, note = prd + "/journal.jsonl", prd + "/importing.json"
	importing := p.Read(note)
	lines := bytes.SplitAfter(p.Read(journal), []byte("\n"))
	lines[1][len(lines[1])/2] ^= 1
	p.Write(journal, bytes.Join(lines, nil))
	_, err := repair.RebuildJournal(p.T.Context(), p.Open(), prd, checkpointtest.By)
	checkpointtest.Must(p.T, err)
	p.Write(note, importing)
}

// TestLastTarget: a session can be given up although its rollback can't be finished, but
// not if that would leave edits where no command finds them.
func TestLastTarget(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]bool{"as it was": false, "edited": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.cutShort()
			if edit {
				p.Save("gen/a.txt", "edited")
			}
			x, _, err := change.LastTarget(p.env, p.Open(), prd).Lock(t.Context())
			if advice.IsA[*change.KeptEditsError](err) != edit || !edit && err != nil {
				t.Errorf("%v", err)
			}
			if err == nil {
				checkpointtest.Must(t, x.Close())
			}
			if x, _, err = change.LastTarget(p.env, p.Open(), prd).Lock(t.Context()); err != nil { // the edits are known
				t.Fatal(err)
			}
			checkpointtest.Must(t, x.Close())
		})
	}
	p := newPlace(t)
	p.cutShort()
	checkpointtest.Must(t, store.RemoveAll(p.FS, filepath.Join(p.Dir, "objects")))
	checkpointtest.Must(t, os.RemoveAll(filepath.Join(p.Root, "sub")))
	x, _, err := change.LastTarget(p.env, p.Open(), prd).Lock(t.Context())
	if err != nil || !strings.Contains(p.stderr.String(), "Warning: the workspace may be partly restored: ") {
		t.Fatalf("%v: %s", err, p.stderr)
	}
	checkpointtest.Must(t, x.Close())
}

// TestAnnounceFinish: a command that changes nothing tells what the next one will finish.
func TestAnnounceFinish(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	w := p.Workspace(p.Open())
	checkpointtest.Must(t, change.AnnounceFinish(t.Context(), p.env, p.Open(), w, prd))
	if report, err := change.PlannedFinish(t.Context(), p.env, p.Open(), prd); err != nil || report != nil || p.stderr.Len() > 0 {
		t.Errorf("nothing: %+v, %v, %s", report, err, p.stderr)
	}
	to := p.cutShort()
	checkpointtest.Must(t, change.AnnounceFinish(t.Context(), p.env, p.Open(), w, prd))
	if report, err := change.PlannedFinish(t.Context(), p.env, p.Open(), prd); err != nil || report.To != to || !strings.HasPrefix(p.stderr.String(), "First, the rollback to "+to) {
		t.Errorf("%+v, %v, %s", report, err, p.stderr)
	}
}

// TestInterrupted: an owner finishes what was cut short itself.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	rolling := reader.Current{State: &state.State{Rollback: &state.RollbackStarted{}}}
	for name, test := range map[string]struct {
		snap checkpoint.Snapshot
		want bool
	}{
		"nothing":              {checkpoint.Snapshot{}, false},
		"whole":                {checkpoint.Snapshot{Current: reader.Current{State: &state.State{}}}, false},
		"a rescue copy":        {checkpoint.Snapshot{Current: reader.Current{RescuePath: "x"}}, true},
		"a torn write":         {checkpoint.Snapshot{Current: reader.Current{TornBytes: 1}}, true},
		"an import":            {checkpoint.Snapshot{Current: reader.Current{Import: &disk.PendingImport{}}}, true},
		"a rollback":           {checkpoint.Snapshot{Current: rolling}, true},
		"a rollback, an owner": {checkpoint.Snapshot{Current: rolling, Owner: &disk.Holder{}}, false},
	} {
		if got := change.Interrupted(&test.snap); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	p := newPlace(t)
	if snap, err := change.ReadSession(p.Open(), prd); err != nil || snap.State.Session != "s1" {
		t.Errorf("a session: %v", err)
	}
	if snap, err := change.ReadSession(p.Open(), "PRD-010"); err != nil || snap.State != nil || snap.Import != nil {
		t.Errorf("no session: %v, %v", snap, err)
	}
}

// TestDamageIn: only an error that names a checkpoint, or that comes of restoring one, is
// damage of a checkpoint.
func TestDamageIn(t *testing.T) {
	t.Parallel()
	missing := &workspace.MissingError{}
	for name, test := range map[string]struct {
		err        error
		target, id string
	}{
		"another":           {errors.New("no"), "C1", ""},
		"a checkpoint":      {&state.DamagedError{Checkpoint: "C2"}, "C1", "C2"},
		"something else":    {&state.DamagedError{}, "C1", ""},
		"files to restore":  {missing, "C1", "C1"},
		"files of no other": {missing, "", ""},
		"none":              {nil, "C1", ""},
	} {
		id, _, ok := change.DamageIn(test.err, test.target)
		if id != test.id || ok != (test.id != "") {
			t.Errorf("%s: %q, %v", name, id, ok)
		}
	}
	p := newPlace(t)
	target := p.target()
	target.Files = p.Workspace(target.Store)
	x := checkpointtest.LockPRD(t, target.Store, prd)
	first := x.State().Checkpoints[0].ID
	other := errors.New("no")
	if err := change.MarkDamage(t.Context(), target, x, first, other); !errors.Is(err, other) || p.stderr.Len() > 0 {
		t.Errorf("%v: %s", err, p.stderr)
	}
	if err := change.MarkDamage(t.Context(), target, x, first, missing); !errors.Is(err, missing) || !strings.Contains(p.stderr.String(), "damaged: "+first) {
		t.Errorf("%v: %s", err, p.stderr)
	}
	checkpointtest.Must(t, x.Close())
	if marked := p.State().Checkpoints[0]; marked.Damage == nil || !strings.Contains(p.audited(), first) {
		t.Errorf("it is not marked: %+v, %s", marked, p.audited())
	}
}

// TestSetNewerAside: the session is no longer current, and the user learns where it is.
func TestSetNewerAside(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	checkpointtest.Must(t, change.SetNewerAside(t.Context(), p.env, p.Open(), prd, "test", "why"))
	if _, err := p.Open().Load(prd); !errors.Is(err, checkpoint.ErrNoSession) || !strings.Contains(p.stderr.String(), "Set it aside under ") {
		t.Errorf("%v: %s", err, p.stderr)
	}
	x := checkpointtest.LockPRD(t, p.Open(), "PRD-010")
	p.stderr.Reset()
	err := change.SetNewerAside(t.Context(), p.env, p.Open(), "PRD-010", "test", "why")
	if err == nil || p.stderr.Len() > 0 {
		t.Errorf("of a locked one: %v, %s", err, p.stderr)
	}
	checkpointtest.Must(t, x.Close())
}
