package checkpoint

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

	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/store/faults"
	"prdrunner/checkpoint/workspace"
)

var update = flag.Bool("update", false, "write the fixtures of the current format version anew")

// fixtureDir holds a state directory of every version and every way to end.
const fixtureDir = "testdata/format"

// TestUpdateFormats writes the state directories of the current version, where
// that is asked for. Once a version was released its fixtures stay as they are.
func TestUpdateFormats(t *testing.T) {
	if !*update {
		return // nothing is to be tested
	}
	for name, end := range map[string]func(t *testing.T, p *project){
		"failed":      func(*testing.T, *project) {},
		"paused":      endPaused,
		"complete":    endComplete,
		"rolled-back": endRolledBack,
	} {
		p := newProject(t, store.OS())
		p.fixture = on(t, store.OS(), filepath.Join(t.TempDir(), ".runner"))
		p.begin("5b2f168a-f568-4618-9982-b18ff960dc5b")
		end(t, p)
		for _, local := range []string{".gitignore", "locks/PRD-009.lock", "locks/store.lock", disk.CacheName} {
			must(t, os.RemoveAll(filepath.Join(p.fixture.dir, local)))
		}
		to := filepath.Join(fixtureDir, state.FormatVersion, name)
		must(t, os.RemoveAll(to))
		must(t, os.MkdirAll(filepath.Dir(to), 0o755))
		must(t, os.CopyFS(to, os.DirFS(p.fixture.dir)))
	}
}

func endPaused(t *testing.T, p *project) {
	x := p.lock()
	commit(t, x, state.SessionResumed{Pipeline: state.FileRef{Path: "PRD-009.hcl", Digest: "sha256:ab"}, By: by, Version: "test"})
	commit(t, x, state.SessionPaused{Reason: state.PauseRequested, Message: "for the night"})
	p.capture(x, p.workspace(x.store), state.TriggerPause)
	must(t, x.Close())
}

func endComplete(t *testing.T, p *project) {
	x := p.lock()
	commit(t, x, state.SessionResumed{Pipeline: state.FileRef{Path: "PRD-009.hcl", Digest: "sha256:ab"}, By: by, Version: "test"})
	p.save("gen/b.txt", "b")
	phase := x.State().Phases[0]
	produce(t, x, phase.Workstreams[1].Name, put(t, x.store, "gen/b.txt", "b"))
	commit(t, x, state.PhaseCompleted{Phase: phase.Name}, state.SessionCompleted{})
	p.capture(x, p.workspace(x.store), state.TriggerComplete)
	must(t, x.Close())
}

func endRolledBack(t *testing.T, p *project) {
	x := p.lock()
	p.save("sub/more.txt", "more")
	_, err := rooms.RollBack(context.Background(), x, p.workspace(x.store), x.State().Checkpoints[0].ID, "", "another way")
	must(t, err)
	must(t, x.Close())
}

// kept is a state directory of some version, to be worked on.
type kept struct {
	*project
	version string
	prd     string
	state   *state.State
}

// eachFormat calls a test with a copy of each fixture.
func eachFormat(t *testing.T, test func(t *testing.T, k *kept)) {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(fixtureDir, "*", "*"))
	must(t, err)
	if len(dirs) < 11 {
		t.Fatalf("only %d fixtures", len(dirs))
	}
	for _, dir := range dirs {
		version := filepath.Base(filepath.Dir(dir))
		t.Run(version+"/"+filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, store.OS())
			p.fixture = on(t, store.OS(), filepath.Join(t.TempDir(), ".runner"))
			copyState(t, dir, p.fixture.dir)
			s := p.open()
			prds, err := s.PRDs()
			must(t, err)
			if len(prds) != 1 {
				t.Fatalf("PRDs %v", prds)
			}
			snap, err := s.Load(prds[0])
			must(t, err)
			test(t, &kept{project: p, version: version, prd: prds[0], state: snap.State})
		})
	}
}

// copyState copies a state directory, with the modes that it must have.
func copyState(t *testing.T, from, to string) {
	t.Helper()
	must(t, os.CopyFS(to, os.DirFS(from)))
	must(t, filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type() == fs.ModeSymlink {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, store.DirPerm)
		}
		return os.Chmod(path, store.FilePerm)
	}))
}

// versions finds where a file says which version wrote it.
func (k *kept) versions() *regexp.Regexp {
	return regexp.MustCompile(`("format_version": ?)"` + regexp.QuoteMeta(k.version) + `"`)
}

// alike is a state without what says which version wrote it.
func alike(s *state.State) *state.State {
	c := s.Clone()
	c.FormatVersion = ""
	return c
}

// readable makes sure that every checkpoint can be read, and that the session
// stands where it stood.
func (k *kept) readable(t *testing.T, s *Store) {
	t.Helper()
	snap, err := s.Load(k.prd)
	must(t, err)
	same(t, "state", alike(snap.State), alike(k.state))
	refs, err := s.Checkpoints(k.prd)
	must(t, err)
	if len(refs) < 2 {
		t.Errorf("checkpoints %v", refs)
	}
	for _, ref := range refs {
		f, err := s.ReadCheckpoint(k.prd, ref.ID)
		must(t, err)
		if !f.Recovery.PrerequisitesMet && len(f.Recovery.Warnings) == 0 {
			t.Errorf("checkpoint %s does not say what is missing: %+v", ref.ID, f.Recovery)
		}
		if f.ID != ref.ID || f.State.Seq != ref.Seq {
			t.Errorf("checkpoint %s is %s of commit %d", ref.ID, f.ID, f.State.Seq)
		}
	}
	sessions, err := s.Sessions(k.prd)
	must(t, err)
	if len(sessions) != 1 || sessions[0].Err != nil {
		t.Errorf("sessions %+v", sessions)
	}
}

func TestFormatsAreRead(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, k *kept) {
		before := everything(t, k.fs, k.fixture.dir)
		k.readable(t, k.open())
		untouched(t, "reading", everything(t, k.fs, k.fixture.dir), before)
		if k.state.FormatVersion != k.version {
			t.Errorf("it is of version %s", k.state.FormatVersion)
		}
	})
}

// TestFormatsGoOn: a session of any version is gone on with, without being
// migrated.
func TestFormatsGoOn(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, k *kept) {
		x := lockPRD(t, k.open(), k.prd)
		same(t, "under the lock", alike(x.State()), alike(k.state))
		ref, err := x.Create(t.Context(), k.workspace(x.store), "by a later version")
		must(t, err)
		id, err := x.State().FindCheckpoint("latest")
		if must(t, err); id.ID != ref.ID {
			t.Errorf("the latest is %s", id.ID)
		}
		k.state = x.State().Clone()
		must(t, x.Close())
		k.readable(t, k.open())
	})
}

func TestFormatsTravel(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, k *kept) {
		export := func(s *Store, w *workspace.Workspace) []byte {
			var out bytes.Buffer
			// Format 1.0 kept the bytes of no artifact.
			_, err := s.Export(t.Context(), w, k.prd, ExportOptions{Out: &out, Force: k.version == "1.0"})
			must(t, err)
			return out.Bytes()
		}
		archive := export(k.open(), k.workspace(k.open()))
		q := newProject(t, store.NewMemory())
		placed, err := takeIn(q.open(), archive, false)
		if must(t, err); placed.Relation != journal.RelationNew {
			t.Errorf("%+v", placed)
		}
		k.readable(t, q.open())
		if k.version == state.FormatVersion {
			if !bytes.Equal(archive, export(q.open(), q.workspace(q.open()))) {
				t.Error("what was imported is exported otherwise")
			}
		}
		// The archive is still known for the session that it is of after a migration.
		_, err = k.open().Migrate(t.Context(), k.prd, by)
		must(t, err)
		placed, err = takeIn(k.open(), archive, false)
		if must(t, err); placed.Relation != journal.RelationEqual {
			t.Errorf("after a migration: %+v", placed)
		}
	})
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, k *kept) {
		s := k.open()
		before := everything(t, k.fs, k.fixture.dir)
		plan, err := s.PlanMigrate(t.Context(), k.prd)
		must(t, err)
		untouched(t, "planning", everything(t, k.fs, k.fixture.dir), before)
		done, err := s.Migrate(t.Context(), k.prd, by)
		must(t, err)
		old := k.version != state.FormatVersion
		if plan.Needed() != old || done.Needed() != old || plan.From != k.version || old && len(done.Checkpoints) != len(k.state.Checkpoints) {
			t.Errorf("plan %+v, done %+v", plan, done)
		}
		k.readable(t, s)
		if !old {
			untouched(t, "migrating", everything(t, k.fs, k.fixture.dir), before)
			return
		}
		for path, data := range contents(t, k.fixture.dir) {
			kept := strings.Contains(path, "/"+"backup-"+k.version+"/") || strings.Contains(path, "/journal.1-")
			if of := k.versions().MatchString(data); of && !kept || !of && kept && strings.HasSuffix(path, ".json") {
				t.Errorf("%s: of version %s: %v, a backup: %v", path, k.version, of, kept)
			}
		}
		dir := s.layout.PRDDir(k.prd)
		for _, id := range done.Checkpoints { // the backup is what was there
			was, is := s.layout.CheckpointsIn(dir).FilePath(id), s.layout.CheckpointsIn(filepath.Join(dir, "backup-"+k.version)).FilePath(id)
			if data, err := os.ReadFile(is); err != nil || !strings.HasSuffix(before[was], string(data)) {
				t.Errorf("the backup of %s: %v", id, err)
			}
		}
		if kept, _ := filepath.Glob(filepath.Join(dir, "journal.1-*.jsonl")); len(kept) != 1 {
			t.Errorf("the old journal is not kept: %v", kept)
		}
		again, err := s.Migrate(t.Context(), k.prd, by)
		if must(t, err); again.Needed() {
			t.Errorf("again: %+v", again)
		}
	})
}

// contents are the files of a directory that begin a version's name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.Contains(d.Name(), ".json") {
			return err
		}
		data, err := os.ReadFile(path)
		found[filepath.ToSlash(path)] = string(data)
		return err
	}))
	return found
}

// TestMigrationCutShort ends a migration at each change of the disk, by a fault
// and by a power cut, whatever the disk makes of it: the session can be read, and migrating again completes it.
func TestMigrationCutShort(t *testing.T) {
	t.Parallel()
	base := on(t, store.NewMemory(), "/ws/.runner")
	must(t, filepath.WalkDir(filepath.Join(fixtureDir, "1.0", "failed"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(filepath.Join(fixtureDir, "1.0", "failed"), path)
		base.write(rel, data)
		return err
	}))
	prds, err := base.open().PRDs()
	must(t, err)
	snap, err := base.open().Load(prds[0])
	must(t, err)
	states := 0
	for n := int64(1); ; n++ {
		disk := base.fs.(*store.Memory).Crash()
		_, failed := on(t, &faults.Killed{FS: disk, At: n}, "/ws/.runner").open().Migrate(t.Context(), prds[0], by)
		for _, left := range append(faults.SomeCuts(disk, n), disk) {
			states++
			f := on(t, left, "/ws/.runner")
			k := &kept{project: &project{fixture: f}, prd: prds[0], state: snap.State}
			k.readable(t, f.open())
			_, err := f.open().Migrate(t.Context(), prds[0], by)
			must(t, err)
			k.readable(t, f.open())
			if again, err := f.open().PlanMigrate(t.Context(), prds[0]); err != nil || again.Needed() {
				t.Fatalf("at change %d: %+v, %v", n, again, err)
			}
		}
		if failed == nil {
			t.Logf("%d changes, %d states", n-1, states)
			return
		}
	}
}

// TestFutureFormatIsRefused: what a newer version wrote is named, and not
// touched, whatever is asked for.
func TestFutureFormatIsRefused(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, k *kept) {
		for path, data := range contents(t, k.fixture.dir) {
			must(t, os.WriteFile(path, []byte(k.versions().ReplaceAllString(data, `${1}"9.0"`)), 0o600))
		}
		before := everything(t, k.fs, k.fixture.dir)
		s := k.open()
		for what, do := range map[string]func() error{
			"load":       func() error { _, err := s.Load(k.prd); return err },
			"checkpoint": func() error { _, err := s.ReadCheckpoint(k.prd, "latest"); return err },
			"migrate":    func() error { _, err := s.Migrate(t.Context(), k.prd, by); return err },
			"export": func() error {
				_, err := s.Export(t.Context(), k.workspace(s), k.prd, ExportOptions{Format: bundle.Gzip})
				return err
			},
		} {
			err := do()
			var refused *state.VersionError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), "9.0") || !strings.Contains(err.Error(), k.prd) {
				t.Errorf("%s: %v", what, err)
			}
			untouched(t, what, everything(t, k.fs, k.fixture.dir), before)
		}
	})
}
