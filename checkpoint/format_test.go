package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
	"prdrunner/checkpoint/transfer"
	"prdrunner/checkpoint/workspace"
)

var update = flag.Bool("update", false, "write the fixtures of the current format version")

// fixtureDir holds a state directory for each format version and each end of a session.
const fixtureDir = "testdata/format"

// TestUpdateFormats writes the fixtures of the current version if -update is given. The
// fixtures of a released version must not change.
func TestUpdateFormats(t *testing.T) {
	if !*update {
		return
	}
	for name, end := range map[string]func(t *testing.T, p *checkpointtest.Project){
		"failed":      func(*testing.T, *checkpointtest.Project) {},
		"paused":      endPaused,
		"complete":    endComplete,
		"rolled-back": endRolledBack,
	} {
		p := checkpointtest.NewProject(t, store.OS())
		p.Fixture = checkpointtest.On(t, store.OS(), filepath.Join(t.TempDir(), ".runner"))
		p.Begin("5b2f168a-f568-4618-9982-b18ff960dc5b")
		end(t, p)
		for _, local := range []string{".gitignore", "locks/PRD-009.lock", "locks/store.lock", disk.CacheName} {
			checkpointtest.Must(t, os.RemoveAll(filepath.Join(p.Dir, local)))
		}
		to := filepath.Join(fixtureDir, state.FormatVersion, name)
		checkpointtest.Must(t, os.RemoveAll(to))
		checkpointtest.Must(t, os.MkdirAll(filepath.Dir(to), 0o755))
		checkpointtest.Must(t, os.CopyFS(to, os.DirFS(p.Dir)))
	}
}

func endPaused(t *testing.T, p *checkpointtest.Project) {
	x := p.Lock()
	checkpointtest.Commit(t, x, state.SessionResumed{Pipeline: state.FileRef{Path: "PRD-009.hcl", Digest: "sha256:ab"}, By: checkpointtest.By, Version: "test"})
	checkpointtest.Commit(t, x, state.SessionPaused{Reason: state.PauseRequested, Message: "for the night"})
	p.Capture(x, p.Workspace(x.Store()), state.TriggerPause)
	checkpointtest.Must(t, x.Close())
}

func endComplete(t *testing.T, p *checkpointtest.Project) {
	x := p.Lock()
	checkpointtest.Commit(t, x, state.SessionResumed{Pipeline: state.FileRef{Path: "PRD-009.hcl", Digest: "sha256:ab"}, By: checkpointtest.By, Version: "test"})
	p.Save("gen/b.txt", "b")
	phase := x.State().Phases[0]
	checkpointtest.Produce(t, x, phase.Workstreams[1].Name, checkpointtest.Put(t, x.Store(), "gen/b.txt", "b"))
	checkpointtest.Commit(t, x, state.PhaseCompleted{Phase: phase.Name}, state.SessionCompleted{})
	p.Capture(x, p.Workspace(x.Store()), state.TriggerComplete)
	checkpointtest.Must(t, x.Close())
}

func endRolledBack(t *testing.T, p *checkpointtest.Project) {
	x := p.Lock()
	p.Save("sub/more.txt", "more")
	_, err := rollback.Run(context.Background(), x, p.Workspace(x.Store()), rollback.Options{To: x.State().Checkpoints[0].ID, Reason: "another way", By: checkpointtest.By})
	checkpointtest.Must(t, err)
	checkpointtest.Must(t, x.Close())
}

// kept is a copy of a fixture, with the version, the PRD and the state of the fixture.
type kept struct {
	*checkpointtest.Project
	version string
	prd     string
	state   *state.State
}

// eachFormat calls test with a copy of each fixture.
func eachFormat(t *testing.T, test func(t *testing.T, k *kept)) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(fixtureDir, "*", "*"))
	checkpointtest.Must(t, err)
	if len(dirs) < 11 {
		t.Fatalf("only %d fixtures", len(dirs))
	}
	for _, dir := range dirs {
		version := filepath.Base(filepath.Dir(dir))
		t.Run(version+"/"+filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			p := checkpointtest.NewProject(t, store.OS())
			p.Fixture = checkpointtest.On(t, store.OS(), filepath.Join(t.TempDir(), ".runner"))
			copyState(t, dir, p.Dir)
			s := p.Open()
			prds, err := s.Reader().PRDs()
			checkpointtest.Must(t, err)
			if len(prds) != 1 {
				t.Fatalf("PRDs %v", prds)
			}
			snap, err := s.Load(prds[0])
			checkpointtest.Must(t, err)
			test(t, &kept{Project: p, version: version, prd: prds[0], state: snap.State})
		})
	}
}

// copyState copies a state directory, and sets the file modes that Runner requires.
func copyState(t *testing.T, from, to string) {
	t.Helper()
	checkpointtest.Must(t, os.CopyFS(to, os.DirFS(from)))
	checkpointtest.Must(t, filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() == fs.ModeSymlink {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, store.DirPerm)
		}
		return os.Chmod(path, store.FilePerm)
	}))
}

// versions returns a pattern that matches the format version in a file.
func (k *kept) versions() *regexp.Regexp {
	return regexp.MustCompile(`("format_version": ?)"` + regexp.QuoteMeta(k.version) + `"`)
}

// alike returns a copy of a state without the format version.
func alike(s *state.State) *state.State {
	c := s.Clone()
	c.FormatVersion = ""
	return c
}

// readable fails the test unless the session has the state k.state and every checkpoint
// can be read.
func (k *kept) readable(t *testing.T, s *checkpoint.Store) {
	t.Helper()
	snap, err := s.Load(k.prd)
	checkpointtest.Must(t, err)
	checkpointtest.Same(t, "state", alike(snap.State), alike(k.state))
	refs, err := s.Checkpoints(k.prd)
	checkpointtest.Must(t, err)
	if len(refs) < 2 {
		t.Errorf("checkpoints %v", refs)
	}
	for _, ref := range refs {
		f, err := s.ReadCheckpoint(k.prd, ref.ID)
		checkpointtest.Must(t, err)
		if !f.Recovery.PrerequisitesMet && len(f.Recovery.Warnings) == 0 {
			t.Errorf("checkpoint %s does not say what is missing: %+v", ref.ID, f.Recovery)
		}
		if f.ID != ref.ID || f.State.Seq != ref.Seq {
			t.Errorf("the file of checkpoint %s is of %s at commit %d", ref.ID, f.ID, f.State.Seq)
		}
	}
	sessions, err := s.Reader().Sessions(k.prd)
	checkpointtest.Must(t, err)
	if len(sessions) != 1 || sessions[0].Err != nil {
		t.Errorf("sessions %+v", sessions)
	}
}

// TestFormatsAreRead reads the session and the checkpoints of each fixture. Reading must
// change no file.
func TestFormatsAreRead(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, k *kept) {
		before := checkpointtest.Everything(t, k.FS, k.Dir)
		k.readable(t, k.Open())
		checkpointtest.Untouched(t, "reading", checkpointtest.Everything(t, k.FS, k.Dir), before)
		if k.state.FormatVersion != k.version {
			t.Errorf("the state has version %s", k.state.FormatVersion)
		}
	})
}

// TestFormatsGoOn adds a checkpoint to the session of each fixture, without a migration.
// All checkpoints must be readable afterwards.
func TestFormatsGoOn(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, k *kept) {
		x := checkpointtest.LockPRD(t, k.Open(), k.prd)
		checkpointtest.Same(t, "under the lock", alike(x.State()), alike(k.state))
		ref, err := x.Create(t.Context(), k.Workspace(x.Store()), "by a later version")
		checkpointtest.Must(t, err)
		id, err := x.State().FindCheckpoint("latest")
		if checkpointtest.Must(t, err); id.ID != ref.ID {
			t.Errorf("the latest is %s", id.ID)
		}
		k.state = x.State().Clone()
		checkpointtest.Must(t, x.Close())
		k.readable(t, k.Open())
	})
}

// TestFormatsTravel exports the session of each fixture and imports the archive into an
// empty store. The imported session must be readable.
func TestFormatsTravel(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, k *kept) {
		export := func(s *checkpoint.Store, w *workspace.Workspace) []byte {
			var out bytes.Buffer
			// Format 1.0 kept the bytes of no artifact.
			_, err := transfer.Export(t.Context(), s, w, k.prd, transfer.ExportOptions{Out: &out, Force: k.version == "1.0"})
			checkpointtest.Must(t, err)
			return out.Bytes()
		}
		archive := export(k.Open(), k.Workspace(k.Open()))
		q := checkpointtest.NewProject(t, store.NewMemory())
		placed, err := checkpointtest.TakeIn(q.Open(), archive, false)
		if checkpointtest.Must(t, err); placed.Relation != journal.RelationNew {
			t.Errorf("%+v", placed)
		}
		k.readable(t, q.Open())
		if k.version == state.FormatVersion {
			if !bytes.Equal(archive, export(q.Open(), q.Workspace(q.Open()))) {
				t.Error("the export of an imported session differs from the imported archive")
			}
		}
		// After a migration, an import must still recognize the older archive as one of
		// the same session.
		_, err = repair.Migrate(t.Context(), k.Open(), k.prd, checkpointtest.By)
		checkpointtest.Must(t, err)
		placed, err = checkpointtest.TakeIn(k.Open(), archive, false)
		if checkpointtest.Must(t, err); placed.Relation != journal.RelationEqual {
			t.Errorf("after a migration: %+v", placed)
		}
	})
}

// TestMigrate migrates the session of each fixture. Planning must change no file.
// Afterwards every file must have the current version, and the backup must hold the old
// files. A second migration must have nothing to do.
func TestMigrate(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, k *kept) {
		s := k.Open()
		before := checkpointtest.Everything(t, k.FS, k.Dir)
		plan, err := repair.PlanMigrate(t.Context(), s, k.prd)
		checkpointtest.Must(t, err)
		checkpointtest.Untouched(t, "planning", checkpointtest.Everything(t, k.FS, k.Dir), before)
		done, err := repair.Migrate(t.Context(), s, k.prd, checkpointtest.By)
		checkpointtest.Must(t, err)
		old := k.version != state.FormatVersion
		if plan.Needed() != old || done.Needed() != old || plan.From != k.version || old && len(done.Checkpoints) != len(k.state.Checkpoints) {
			t.Errorf("plan %+v, done %+v", plan, done)
		}
		k.readable(t, s)
		if !old {
			checkpointtest.Untouched(t, "migrating", checkpointtest.Everything(t, k.FS, k.Dir), before)
			return
		}
		for path, data := range contents(t, k.Dir) {
			kept := strings.Contains(path, "/"+"backup-"+k.version+"/") || strings.Contains(path, "/journal.1-")
			if of := k.versions().MatchString(data); of && !kept || !of && kept && strings.HasSuffix(path, ".json") {
				t.Errorf("%s: of version %s: %v, a backup: %v", path, k.version, of, kept)
			}
		}
		dir := s.Layout().PRDDir(k.prd)
		for _, id := range done.Checkpoints { // the backup has the old files
			was, is := s.Layout().CheckpointsIn(dir).FilePath(id), s.Layout().CheckpointsIn(filepath.Join(dir, "backup-"+k.version)).FilePath(id)
			if data, err := os.ReadFile(is); err != nil || !strings.HasSuffix(before[was], string(data)) {
				t.Errorf("the backup of %s: %v", id, err)
			}
		}
		if kept, _ := filepath.Glob(filepath.Join(dir, "journal.1-*.jsonl")); len(kept) != 1 {
			t.Errorf("the old journal is not kept: %v", kept)
		}
		again, err := repair.Migrate(t.Context(), s, k.prd, checkpointtest.By)
		if checkpointtest.Must(t, err); again.Needed() {
			t.Errorf("again: %+v", again)
		}
	})
}

// contents returns the content of the JSON files below a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	checkpointtest.Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.Contains(d.Name(), ".json") {
			return err
		}
		data, err := os.ReadFile(path)
		found[filepath.ToSlash(path)] = string(data)
		return err
	}))
	return found
}

// TestMigrationCutShort ends a migration at each change of the disk, by a fault and by a
// power cut. The session must be readable, and migrating again must complete the
// migration.
func TestMigrationCutShort(t *testing.T) {
	t.Parallel()
	base := checkpointtest.On(t, store.NewMemory(), "/ws/.runner")
	checkpointtest.Must(t, filepath.WalkDir(filepath.Join(fixtureDir, "1.0", "failed"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(filepath.Join(fixtureDir, "1.0", "failed"), path)
		base.Write(rel, data)
		return err
	}))
	prds, err := base.Open().Reader().PRDs()
	checkpointtest.Must(t, err)
	snap, err := base.Open().Load(prds[0])
	checkpointtest.Must(t, err)
	states := 0
	for n := range faults.Moments() {
		disk := base.FS.(*store.Memory).Crash()
		_, failed := repair.Migrate(t.Context(), checkpointtest.On(t, &faults.Killed{FS: disk, At: n}, "/ws/.runner").Open(), prds[0], checkpointtest.By)
		for _, left := range append(faults.SomeCuts(disk, n), disk) {
			states++
			f := checkpointtest.On(t, left, "/ws/.runner")
			k := &kept{Project: &checkpointtest.Project{Fixture: f}, prd: prds[0], state: snap.State}
			k.readable(t, f.Open())
			_, err := repair.Migrate(t.Context(), f.Open(), prds[0], checkpointtest.By)
			checkpointtest.Must(t, err)
			k.readable(t, f.Open())
			if again, err := repair.PlanMigrate(t.Context(), f.Open(), prds[0]); err != nil || again.Needed() {
				t.Fatalf("at change %d: %+v, %v", n, again, err)
			}
		}
		if failed == nil {
			t.Logf("%d states, the last after %d changes", states, n-1)
			return
		}
	}
}

// TestFutureFormatIsRefused sets the version of all files to 9.0. Every command must
// refuse the session with an error that names the version and the PRD, and change no
// file.
func TestFutureFormatIsRefused(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, k *kept) {
		for path, data := range contents(t, k.Dir) {
			checkpointtest.Must(t, os.WriteFile(path, []byte(k.versions().ReplaceAllString(data, `${1}"9.0"`)), 0o600))
		}
		before := checkpointtest.Everything(t, k.FS, k.Dir)
		s := k.Open()
		for what, do := range map[string]func() error{
			"load":       func() error { _, err := s.Load(k.prd); return err },
			"checkpoint": func() error { _, err := s.ReadCheckpoint(k.prd, "latest"); return err },
			"migrate":    func() error { _, err := repair.Migrate(t.Context(), s, k.prd, checkpointtest.By); return err },
			"export": func() error {
				_, err := transfer.Export(t.Context(), s, k.Workspace(s), k.prd, transfer.ExportOptions{Format: bundle.Gzip})
				return err
			},
		} {
			err := do()
			var refused *state.VersionError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), "9.0") || !strings.Contains(err.Error(), k.prd) {
				t.Errorf("%s: %v", what, err)
			}
			checkpointtest.Untouched(t, what, checkpointtest.Everything(t, k.FS, k.Dir), before)
		}
	})
}
