package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

func (p *project) export() []byte {
	p.t.Helper()
	s := p.open()
	var out bytes.Buffer
	done, err := s.Export(context.Background(), p.workspace(s), "PRD-009", ExportOptions{Out: &out})
	must(p.t, err)
	if len(done.Lacking) > 0 {
		p.t.Fatalf("lacking: %+v", done.Lacking)
	}
	return out.Bytes()
}

// takeIn imports an archive.
func takeIn(s *Store, archive []byte, replace bool) (*Placed, error) {
	i, err := s.OpenImport(context.Background(), bytes.NewReader(archive), "it.tar", bundle.Limits{})
	if err != nil {
		return nil, err
	}
	placed, err := i.Place(context.Background(), by, PlaceOptions{Replace: replace})
	return placed, errors.Join(err, i.Close())
}

func TestExportIsDeterministic(t *testing.T) {
	t.Parallel()
	p := newProject(t, store.NewMemory())
	p.begin("session-1")
	one, before := p.export(), everything(t, p.fs, p.fixture.dir)
	if !bytes.Equal(one, p.export()) {
		t.Error("the same state gives other bytes")
	}
	untouched(t, "the state directory", everything(t, p.fs, p.fixture.dir), before)

	// What is derived can be made again, to the byte.
	must(t, p.fs.Remove(filepath.Join(p.fixture.dir, "PRD-009.json")))
	must(t, p.fs.Remove(p.open().layout.ManifestPath("PRD-009")))
	ref := p.stands().Checkpoints[0].ID
	must(t, p.fs.Remove(p.checkpoints().FilePath(ref)))
	if !bytes.Equal(one, p.export()) {
		t.Error("without the derived files, the bytes are others")
	}

	// So it can after an import.
	q := newProject(t, store.NewMemory())
	_, err := takeIn(q.open(), one, false)
	must(t, err)
	if !bytes.Equal(one, q.export()) {
		t.Error("what was imported is exported otherwise")
	}
	same(t, "state", q.stands(), p.stands())
	needsWhole(t, q.open(), "PRD-009")
}

// TestExportWhileItIsWritten: lines that come after the journal was read, and a
// line that is half written, are not in the archive, and do no harm.
func TestExportWhileItIsWritten(t *testing.T) {
	t.Parallel()
	p := newProject(t, store.NewMemory())
	p.begin("session-1")
	want := p.export()
	journal := p.read("PRD-009/journal.jsonl")
	p.write("PRD-009/journal.jsonl", append(journal, `{"seq":99,"time`...))
	if !bytes.Equal(want, p.export()) {
		t.Error("a torn line changes the archive")
	}
}

// TestExportTakesFromFiles: what is damaged, or lost, is taken from a file of the
// workspace that has the same bytes.
func TestExportTakesFromFiles(t *testing.T) {
	t.Parallel()
	for what := range damages([]byte("content")) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, store.NewMemory())
			p.begin("session-1")
			whole := p.export()
			s := p.open()
			path, _, err := s.Objects().Path(put(t, s, "gen/a.txt", "a").Digest)
			must(t, err)
			p.damage(path, what)
			var out bytes.Buffer
			done, err := s.Export(t.Context(), p.workspace(s), "PRD-009", ExportOptions{Out: &out})
			must(t, err)
			same(t, "taken", done.FromFiles, []string{"gen/a.txt"})
			if !bytes.Equal(out.Bytes(), whole) {
				t.Error("the bytes are others")
			}
		})
	}
}

// TestExportStandsIn: where a blob of git is damaged, the object that stands in
// for it is exported.
func TestExportStandsIn(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newScoped(t, map[string]string{"user.txt": "first"})
	s.put(map[string]string{"user.txt": "important"})
	s.git("add", "user.txt")
	_, err := s.x.Create(ctx, s.w, "")
	must(t, err)
	l, err := s.w.Load(ctx, s.x.State().Capture.Listing)
	must(t, err)
	name := l.Entries[0].Blob
	var out bytes.Buffer
	_, err = s.open().Export(ctx, s.w, "PRD-009", ExportOptions{Out: &out, Force: true})
	must(t, err)
	damageLoose(t, s.ws, name, "flipped")
	must(t, s.w.Secure(ctx, l.Entries, true))
	s.put(map[string]string{"user.txt": ""})
	var again bytes.Buffer
	_, err = s.open().Export(ctx, s.w, "PRD-009", ExportOptions{Out: &again, Force: true})
	must(t, err)
	if !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Error("the bytes are others")
	}
}

// TestExportNamesWhatIsMissing: a file that is nowhere any more is named, and
// an archive without it is written only if that is forced; it can be imported.
func TestExportNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	p := newProject(t, store.NewMemory())
	p.begin("session-1")
	s := p.open()
	digest := put(t, s, "gen/a.txt", "a").Digest
	must(t, s.Objects().Remove(digest))
	p.save("gen/a.txt", "edited")
	var out bytes.Buffer
	_, err := s.Export(t.Context(), p.workspace(s), "PRD-009", ExportOptions{Out: &out})
	var lacking *LackingError
	if !errors.As(err, &lacking) || len(lacking.Lacking) != 1 || out.Len() > 0 {
		t.Errorf("not forced: %v, %d bytes", err, out.Len())
	}
	done, err := s.Export(t.Context(), p.workspace(s), "PRD-009", ExportOptions{Out: &out, Force: true})
	must(t, err)
	if len(done.Lacking) != 1 || done.Lacking[0].What != "gen/a.txt" || len(done.LostObjects) != 1 || done.LostObjects[0] != digest {
		t.Errorf("lacking %+v, lost %v", done.Lacking, done.LostObjects)
	}
	q := newProject(t, store.NewMemory())
	_, err = takeIn(q.open(), out.Bytes(), false)
	must(t, err)
	same(t, "state", q.stands(), p.stands())
}

func TestRelations(t *testing.T) {
	t.Parallel()
	p := newProject(t, store.NewMemory())
	p.begin("session-1")
	early := p.export()
	base := p.fs.(*store.Memory).Crash()
	p.goOn("one way")
	late := p.export()
	other := newProject(t, base)
	other.goOn("another way")
	foreign := newProject(t, store.NewMemory())
	foreign.begin("session-2")
	for _, test := range []struct {
		name     string
		here     *project
		archive  []byte
		relation journal.Relation
		refused  bool
		archived bool
	}{
		{"equal", p, late, journal.RelationEqual, false, false},
		{"older", p, early, journal.RelationOlder, true, true},
		{"diverged", other, late, journal.RelationDiverged, true, true},
		{"foreign", foreign, late, journal.RelationForeign, true, true},
		{"forward", p, nil, journal.RelationForward, false, false}, // p is older by now
	} {
		if test.archive == nil {
			test.archive = late
		}
		if test.refused {
			before := everything(t, test.here.fs, test.here.fixture.dir)
			_, err := takeIn(test.here.open(), test.archive, false)
			var conflict *ImportConflictError
			if !errors.As(err, &conflict) || conflict.Relation != test.relation {
				t.Fatalf("%s: %v", test.name, err)
			}
			untouched(t, test.name, everything(t, test.here.fs, test.here.fixture.dir), before)
		}
		placed, err := takeIn(test.here.open(), test.archive, true)
		must(t, err)
		if placed.Relation != test.relation || (placed.Archived != "") != test.archived {
			t.Errorf("%s: %+v", test.name, placed)
		}
		needsWhole(t, test.here.open(), "PRD-009")
	}
	same(t, "brought forward", p.stands(), other.stands())
}

// TestImportAgain: what an import puts on record when it overwrites files does
// not keep the same archive from being imported again, also to bring back bytes
// that are lost. What a run puts on record does.
func TestImportAgain(t *testing.T) {
	t.Parallel()
	p := newProject(t, store.NewMemory())
	p.begin("session-1")
	archive := p.export()
	q := newProject(t, store.NewMemory())
	q.save("PRD-009.hcl", "mine")
	must(t, q.takeFilesIn(t.Context(), archive, true))
	stood := q.stands()
	if stood.Seq == p.stands().Seq {
		t.Fatal("what was overwritten is not on record")
	}
	must(t, os.Remove(filepath.Join(q.dir, "gen", "a.txt")))
	s := q.open()
	must(t, s.Objects().Remove(put(t, s, "gen/a.txt", "a").Digest))
	must(t, q.takeFilesIn(t.Context(), archive, true))
	if got := files(t, q.dir); got["gen/a.txt"] != "a" || got["PRD-009.hcl"] != "pipeline" {
		t.Errorf("the files are %q", got)
	}
	same(t, "state", q.stands(), stood)
	q.goOn("further")
	placed, err := takeIn(q.open(), archive, false)
	var conflict *ImportConflictError
	if !errors.As(err, &conflict) || conflict.Relation != journal.RelationOlder {
		t.Errorf("%+v, %v", placed, err)
	}
}

// TestCompactedLineage: a journal that was begun anew is still known for the
// one that it was.
func TestCompactedLineage(t *testing.T) {
	t.Parallel()
	p := newProject(t, store.NewMemory())
	p.begin("session-1")
	early := p.export()
	beginAgain(t, p.open())
	placed, err := takeIn(p.open(), early, false)
	must(t, err)
	if placed.Relation != journal.RelationEqual {
		t.Errorf("the same session is %s after its journal was begun anew", placed.Relation)
	}
	p.goOn("further")
	late := p.export()
	q := newProject(t, store.NewMemory())
	_, err = takeIn(q.open(), early, false)
	must(t, err)
	placed, err = takeIn(q.open(), late, false)
	must(t, err)
	if placed.Relation != journal.RelationForward {
		t.Errorf("its continuation is %s", placed.Relation)
	}
	same(t, "state", q.stands(), p.stands())
	must(t, q.fs.Remove(q.checkpoints().FilePath(q.stands().Checkpoints[0].ID)))
	needsWhole(t, q.open(), "PRD-009") // the old journal came along
}

// beginAgain compacts a journal, however small.
func beginAgain(t *testing.T, s *Store) {
	t.Helper()
	u, err := s.LockUnopened(t.Context(), "PRD-009")
	must(t, err)
	_, err = u.StartOver(by, func(*state.State) {})
	must(t, err)
	x, err := u.Open(by)
	must(t, err)
	must(t, x.Close())
}

// untouched names the first files that are not as they were.
func untouched(t *testing.T, what string, after, before map[string]string) {
	t.Helper()
	for path := range after {
		if _, had := before[path]; !had {
			t.Errorf("%s: %s is new", what, path)
		}
	}
	for path, was := range before {
		if after[path] != was {
			t.Errorf("%s: %s is %q, and was %q", what, path, after[path], was)
		}
	}
}
