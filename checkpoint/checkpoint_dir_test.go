package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// latestIs fails unless `latest` names a file that is there.
func (f *fixture) latestIs(t *testing.T, want string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		return
	}
	dir := filepath.Join(f.dir, "PRD-009")
	target, err := f.fs.Readlink(filepath.Join(dir, disk.LatestName))
	must(t, err)
	if filepath.Join(dir, target) != want {
		t.Errorf("latest names %s, not %s", target, want)
	}
	_, err = f.fs.Lstat(filepath.Join(dir, target))
	must(t, err)
}

// other gives a checkpoint a second file, in the other form.
func (f *fixture) other(t *testing.T, id string) (plain, packed string) {
	t.Helper()
	d := f.checkpoints()
	stored, err := d.Read(id)
	must(t, err)
	plain, packed = filepath.Join(d.Path, disk.FileNames(id)[0]), filepath.Join(d.Path, disk.FileNames(id)[1])
	must(t, d.Replace(&disk.StoredCheckpoint{Path: plain}, stored.JSON))
	must(t, d.Replace(&disk.StoredCheckpoint{Path: packed}, stored.JSON))
	return plain, packed
}

// TestCompressSwitched writes checkpoints in one form and goes on in the other:
// those that are there stay as they are, and everything works on both.
func TestCompressSwitched(t *testing.T) {
	t.Parallel()
	eachForm(t, func(t *testing.T, f *fixture) {
		first := f.o.Policy.Compress
		ids := f.stopped()
		f.latestIs(t, f.checkpoints().FilePath(ids[2]))
		f.compress(!first)
		x := f.lock()
		ids = append(ids, mark(t, x, state.TriggerManual))
		must(t, x.Close())
		for i, id := range ids {
			if packed := strings.HasSuffix(f.checkpoints().FilePath(id), disk.ZstExt); packed != (first == (i < 3)) {
				t.Errorf("checkpoint %d is in %s", i, f.checkpoints().FilePath(id))
			}
			file, err := f.open().ReadCheckpoint("PRD-009", id)
			must(t, err)
			if file.ID != id {
				t.Errorf("%s holds %s", id, file.ID)
			}
		}
		f.latestIs(t, f.checkpoints().FilePath(ids[3]))
		if v := f.validate(ValidateOptions{PRD: "PRD-009"}); v.Damaged() || len(v.Sessions[0].Checkpoints) != 4 {
			t.Errorf("%+v", v)
		}
		f.sized(t, ids)
		x = f.lock()
		_, err := x.Delete(context.Background(), DeleteOptions{References: []string{ids[0], ids[2]}})
		must(t, err)
		must(t, x.Close())
		left, err := f.checkpoints().IDs()
		must(t, err)
		same(t, "files that are left", left, []string{ids[1], ids[3]})
	})
}

// sized fails unless each checkpoint counts as large as its file is.
func (f *fixture) sized(t *testing.T, ids []string) {
	t.Helper()
	s := f.open()
	records, err := s.RecordsOf("PRD-009", nil)
	must(t, err)
	held, err := s.Measure(context.Background(), "PRD-009", records)
	must(t, err)
	for _, id := range ids {
		info, err := f.fs.Lstat(f.checkpoints().FilePath(id))
		must(t, err)
		if held.Held[id].Own != info.Size() {
			t.Errorf("%s counts %d bytes, and has %d", id, held.Held[id].Own, info.Size())
		}
	}
}

// TestRollbackFromFile goes back to a checkpoint that only its file knows.
func TestRollbackFromFile(t *testing.T) {
	t.Parallel()
	eachForm(t, func(t *testing.T, f *fixture) {
		ids := f.stopped()
		file, err := f.open().ReadCheckpoint("PRD-009", ids[0])
		must(t, err)
		snap, err := f.open().Load("PRD-009")
		must(t, err)
		line, err := journal.NewEncoder().Line(&state.Commit{Seq: snap.State.Seq, Time: snap.State.UpdatedAt, State: snap.State, Prev: journal.Genesis})
		must(t, err)
		f.write("PRD-009/journal.jsonl", line)
		x := f.lock()
		_, err = rooms.RollBack(context.Background(), x, nil, ids[0], state.RollbackState, "")
		must(t, err)
		if x.State().Steps != file.Step || x.State().Current != ids[0] {
			t.Errorf("it stands at step %d, %s", x.State().Steps, x.State().Current)
		}
		must(t, x.Close())
	})
}

// TestTwoFilesOfOneCheckpoint: the valid one counts, and the next owner of the
// lock removes the other. Where none is, both stay, and rebuilding keeps both.
func TestTwoFilesOfOneCheckpoint(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ plain, packed bool }{
		"both valid": {true, true}, "plain damaged": {false, true}, "compressed damaged": {true, false}, "both damaged": {false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t)
			ids := f.stopped()
			id := ids[2]
			plain, packed := f.other(t, id)
			if !tt.plain {
				must(t, store.WriteFile(f.fs, plain, []byte("{}\n")))
			}
			if !tt.packed {
				must(t, store.WriteFile(f.fs, packed, []byte("no frame")))
			}
			whole := tt.plain || tt.packed
			if _, err := f.open().ReadCheckpoint("PRD-009", id); (err == nil) != whole {
				t.Errorf("reading it: %v", err)
			}
			if v := f.validate(ValidateOptions{}); v.Damaged() == whole {
				t.Errorf("%+v", v)
			}
			must(t, f.lock().Close())
			left := f.filesOf(id)
			switch {
			case !whole && len(left) != 2, whole && len(left) != 1, whole && tt.plain && left[0] != plain, whole && !tt.plain && left[0] != packed:
				t.Errorf("left are %q", left)
			}
			x := f.lock()
			_, err := Rebuild(context.Background(), x, nil, nil)
			must(t, err)
			must(t, x.Close())
			if v := f.validate(ValidateOptions{Deep: true}); v.Damaged() || len(f.filesOf(id)) != 1 {
				t.Errorf("after rebuilding: %+v", v)
			}
			for _, path := range []string{plain, packed} {
				kept := filepath.Join(f.dir, "PRD-009", filepath.Base(path)+".damaged")
				if _, err := f.fs.Lstat(kept); (err == nil) == whole {
					t.Errorf("%s: %v", kept, err)
				}
			}
			f.latestIs(t, f.checkpoints().FilePath(id))
		})
	}
}

// TestRebuiltInTheOtherForm: `latest` follows a file that is made again under
// another name, and only a damaged one changes its name.
func TestRebuiltInTheOtherForm(t *testing.T) {
	t.Parallel()
	eachForm(t, func(t *testing.T, f *fixture) {
		ids := f.stopped()
		f.flip(f.checkpointFile(ids[2]), 30)
		f.compress(!f.o.Policy.Compress)
		x := f.lock()
		_, err := Rebuild(context.Background(), x, nil, nil)
		must(t, err)
		f.latestIs(t, f.checkpoints().FilePath(ids[2]))
		must(t, x.Close())
		is := strings.HasSuffix(f.checkpoints().FilePath(ids[2]), disk.ZstExt)
		if was := strings.HasSuffix(f.checkpoints().FilePath(ids[1]), disk.ZstExt); is == was || is != f.o.Policy.Compress {
			t.Errorf("rebuilt compressed: %v, the other compressed: %v", is, was)
		}
	})
}

// TestExportIsPlain: an archive is the same whatever form the files have, and
// importing it writes them as they are written there.
func TestExportIsPlain(t *testing.T) {
	t.Parallel()
	p, q := newProject(t, store.NewMemory()), newProject(t, store.NewMemory())
	p.begin("session-1")
	archive := p.export()
	_, err := takeIn(q.open(), archive, false)
	must(t, err)
	old := map[string]bool{}
	for _, ref := range p.stands().Checkpoints {
		old[ref.ID] = true
	}
	q.compress(true)
	p.goOn("more")
	_, err = takeIn(q.open(), p.export(), false) // goes on from there: the older checkpoints meet their likes
	must(t, err)
	for _, ref := range p.stands().Checkpoints {
		if paths := q.filesOf(ref.ID); len(paths) != 1 || strings.HasSuffix(paths[0], disk.ZstExt) == old[ref.ID] {
			t.Errorf("%s is in %q", ref.ID, paths)
		}
	}
	needsWhole(t, q.open(), "PRD-009")
	if !bytes.Equal(p.export(), q.export()) {
		t.Error("compressed files give another archive")
	}
	r := newProject(t, store.NewMemory())
	r.compress(true)
	_, err = takeIn(r.open(), archive, false)
	must(t, err)
	for id := range old {
		if !strings.HasSuffix(r.checkpoints().FilePath(id), disk.ZstExt) {
			t.Errorf("imported as %s", r.checkpoints().FilePath(id))
		}
	}
	if !bytes.Equal(archive, r.export()) {
		t.Error("what was imported is exported otherwise")
	}
}

// TestMigrateCompressed writes the files of an older version anew in their own
// form, and keeps the old ones as they were.
func TestMigrateCompressed(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, k *kept) {
		if k.version == state.FormatVersion {
			return
		}
		k.compress(true)
		s := k.open()
		dir := s.layout.CheckpointsIn(s.layout.PRDDir(k.prd))
		before := map[string][]byte{}
		for _, ref := range k.state.Checkpoints {
			stored, err := dir.Read(ref.ID)
			must(t, err)
			must(t, dir.Remove(ref.ID))
			must(t, dir.Put(disk.EncodedCheckpoint{ID: ref.ID, JSON: [][]byte{stored.JSON}}))
			before[ref.ID], err = store.ReadFile(k.fs, dir.FilePath(ref.ID))
			must(t, err)
		}
		_, err := s.Migrate(t.Context(), k.prd, by)
		must(t, err)
		k.readable(t, s)
		for id, data := range before {
			stored, err := dir.Read(id)
			must(t, err)
			f, err := stored.Decode()
			if must(t, err); f.FormatVersion != state.FormatVersion || !strings.HasSuffix(stored.Path, disk.ZstExt) {
				t.Errorf("%s is of version %s", stored.Path, f.FormatVersion)
			}
			old, err := store.ReadFile(k.fs, filepath.Join(s.layout.PRDDir(k.prd), "backup-"+k.version, disk.CheckpointsDir, filepath.Base(stored.Path)))
			if must(t, err); !bytes.Equal(old, data) {
				t.Errorf("the backup of %s is not what was there", id)
			}
		}
	})
}

// TestCompressedBytes: they are zstd's, the same for the same bytes, and what
// is longer than allowed is not unpacked.
func TestCompressedBytes(t *testing.T) {
	t.Parallel()
	json := bytes.Repeat([]byte(`{"format_version":"1.1","id":"CP-a"}`), 1000)
	one, err := disk.NewCompressor(1 << 20).Pack(json)
	must(t, err)
	two, err := disk.NewCompressor(1 << 20).Pack(json)
	must(t, err)
	if !bytes.Equal(one, two) || len(one) > len(json)/20 || !bytes.HasPrefix(one, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		t.Errorf("%d bytes and %d bytes of %d", len(one), len(two), len(json))
	}
	stream := func(n int) []byte { // without its length in the header
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(64<<10))
		must(t, err)
		_, err = w.Write(make([]byte, n))
		must(t, errors.Join(err, w.Flush(), w.Close()))
		return b.Bytes()
	}
	whole, err := disk.NewCompressor(8 << 20).Pack(make([]byte, 4<<20))
	must(t, err)
	for name, tt := range map[string]struct {
		packed []byte
		want   error
	}{
		"allowed":         {one, nil},
		"length said":     {whole, disk.ErrTooLong},
		"length not said": {stream(4 << 20), disk.ErrTooLong},
		"several frames":  {bytes.Repeat(stream(600<<10), 2), disk.ErrTooLong},
	} {
		if _, err := disk.NewCompressor(1 << 20).Unpack(tt.packed); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCompressedDamage: whatever is in a file that is to be compressed, it is
// damaged, and neither a crash nor an error of reading.
func TestCompressedDamage(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.compress(true)
	id := f.stopped()[1]
	good := f.read(f.checkpointFile(id))
	for name, data := range map[string][]byte{
		"empty": {}, "not compressed": []byte("{}\n"), "cut off": good[:len(good)-7], "longer": append(bytes.Clone(good), 'x'),
		"a frame to skip": {0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}, "the header alone": good[:6],
	} {
		f.write(f.checkpointFile(id), data)
		_, err := f.open().ReadCheckpoint("PRD-009", id)
		var damaged *state.DamagedError
		if !errors.As(err, &damaged) || !strings.HasSuffix(damaged.Path, ".json.zst") || !strings.Contains(damaged.Remedy, "checkpoint rebuild") {
			t.Errorf("%s: %v", name, err)
		}
		v := f.validate(ValidateOptions{})
		if valid, invalid := v.Count(); valid != 2 || invalid != 1 {
			t.Errorf("%s: %d valid, %d not", name, valid, invalid)
		}
	}
}

// FuzzCheckpointFile reads any bytes as the file of a checkpoint, in either
// form: they are found damaged, or hold what can be written and read again.
func FuzzCheckpointFile(f *testing.F) {
	for _, compress := range []bool{false, true} {
		fix := inMemory(f)
		fix.compress(compress)
		x := fix.run()
		id, _ := x.Checkpoint(state.TriggerManual, "seed", nil)
		must(f, x.Close())
		f.Add(fix.read(fix.checkpointFile(id)), compress)
	}
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0xff, 0xff, 0xff, 0xff}, true)
	f.Fuzz(func(t *testing.T, data []byte, compressed bool) {
		d := disk.CheckpointDir{FS: store.NewMemory(), Path: "/checkpoints", Compress: compressed, Zstd: disk.NewCompressor(1 << 20)}
		must(t, store.MkdirAll(d.FS, d.Path))
		must(t, store.WriteFile(d.FS, d.FilePath("CP-a"), data))
		stored, err := d.Read("CP-a")
		must(t, err)
		if _, err := stored.Decode(); err != nil {
			return
		}
		must(t, d.Put(disk.EncodedCheckpoint{ID: "CP-b", JSON: [][]byte{stored.JSON}}))
		again, err := d.Read("CP-b")
		must(t, err)
		if !bytes.Equal(again.JSON, stored.JSON) {
			t.Fatal("what was written is read otherwise")
		}
	})
}

// TestCheckpointFileNames: names are taken apart as they are made, and what is
// none of them is nobody's checkpoint.
func TestCheckpointFileNames(t *testing.T) {
	t.Parallel()
	at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, id := range []string{
		"CP-init-20250101T000000Z-aaaa0000", disk.NewCheckpointID("a b/ü-1.json", at, ""), disk.NewCheckpointID("-", at, ""),
	} {
		for _, name := range disk.FileNames(id) {
			if got, ok := disk.CheckpointOf(name); !ok || got != id {
				t.Errorf("%s is of %q", name, got)
			}
		}
		if got, ok := disk.CheckpointOfMember(disk.CheckpointMember(id)); !ok || got != id {
			t.Errorf("%s is of %q", disk.CheckpointMember(id), got)
		}
	}
	const some = "CP-a-20250101T000000Z-aaaa0000"
	for _, name := range []string{
		"", ".json", ".json.zst", some, some + ".zst", some + ".json.damaged", some + ".json.zst.damaged", "package.json", "CP-notes.json",
		"CP--20250101T000000Z-aaaa0000.json", "CP-a-20251301T000000Z-aaaa0000.json", "CP-a-20250101T000000Z-aaaa000g.json",
		"CP-a_20250101T000000Z-aaaa0000.json", "CP-a-20250101T000000Z_aaaa0000.json", "CP-a b-20250101T000000Z-aaaa0000.json",
		"CP-" + strings.Repeat("a", 250) + "-20250101T000000Z-aaaa0000.json",
	} {
		if id, ok := disk.CheckpointOf(name); ok {
			t.Errorf("%s is of %q", name, id)
		}
	}
	for _, member := range []string{
		"checkpoints/" + some + ".json.zst", "checkpoints/.json", "checkpoints/../" + some + ".json", "logs/" + some + ".json",
	} {
		if id, ok := disk.CheckpointOfMember(member); ok {
			t.Errorf("%s is of %q", member, id)
		}
	}
	d := inMemory(t).checkpoints()
	if _, err := d.Read("CP-a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that is not there: %v", err)
	}
	for _, id := range []string{"", ".hidden", "../up", "a/b", `a\b`} {
		if _, err := d.Read(id); id != "" && (err == nil || errors.Is(err, fs.ErrNotExist)) {
			t.Errorf("read %q: %v", id, err)
		}
		if err := d.Put(disk.EncodedCheckpoint{ID: id, JSON: [][]byte{[]byte("{}")}}); err == nil {
			t.Errorf("put %q", id)
		}
		if err := d.Remove(id); err == nil {
			t.Errorf("removed %q", id)
		}
	}
}

// TestRemover: many files go as few do, whatever their names, and what is not
// there is no error.
func TestRemover(t *testing.T) {
	t.Parallel()
	for _, many := range []int{1, disk.RemoveMany} {
		d := disk.CheckpointDir{FS: store.NewMemory(), Path: "/checkpoints"}
		plain, packed, both := "CP-a-20250101T000000Z-aaaaaaaa", "CP-b-20250101T000000Z-bbbbbbbb", "CP-c-20250101T000000Z-cccccccc"
		for _, name := range []string{disk.FileNames(plain)[0], disk.FileNames(packed)[1], disk.FileNames(both)[0], disk.FileNames(both)[1]} {
			must(t, store.MkdirAll(d.FS, d.Path))
			must(t, store.WriteFile(d.FS, filepath.Join(d.Path, name), []byte("{}")))
		}
		remove, err := d.Remover(many)
		must(t, err)
		for _, id := range []string{plain, packed, both, "CP-d-20250101T000000Z-dddddddd"} {
			must(t, remove(id))
		}
		if left, err := d.List(); err != nil || len(left) > 0 {
			t.Errorf("of %d: %v are left: %v", many, left, err)
		}
	}
}
