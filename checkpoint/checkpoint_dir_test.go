package checkpoint_test

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

	"prdrunner/checkpoint/checkpointtest"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/inventory"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/validate"
)

// wantLatest fails the test unless the link `latest` names the file want, and that file
// exists.
func wantLatest(f *checkpointtest.Fixture, t *testing.T, want string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		return
	}
	dir := filepath.Join(f.Dir, "PRD-009")
	target, err := f.FS.Readlink(filepath.Join(dir, disk.LatestName))
	checkpointtest.Must(t, err)
	if filepath.Join(dir, target) != want {
		t.Errorf("latest names %s, want %s", target, want)
	}
	_, err = f.FS.Lstat(filepath.Join(dir, target))
	checkpointtest.Must(t, err)
}

// otherForm writes the files of a checkpoint in both forms, and returns their paths.
func otherForm(f *checkpointtest.Fixture, t *testing.T, id string) (plain, packed string) {
	t.Helper()
	d := f.Checkpoints()
	stored, err := d.Read(id)
	checkpointtest.Must(t, err)
	plain, packed = filepath.Join(d.Path, disk.FileNames(id)[0]), filepath.Join(d.Path, disk.FileNames(id)[1])
	checkpointtest.Must(t, d.Replace(&disk.StoredCheckpoint{Path: plain}, stored.JSON))
	checkpointtest.Must(t, d.Replace(&disk.StoredCheckpoint{Path: packed}, stored.JSON))
	return plain, packed
}

// TestCompressSwitched switches compression after three checkpoints and makes a fourth.
// The existing files must keep their form. Reading, validating, measuring and deleting
// must work for both forms.
func TestCompressSwitched(t *testing.T) {
	t.Parallel()
	checkpointtest.EachForm(t, func(t *testing.T, f *checkpointtest.Fixture) {
		first := f.Options.Policy.Compress
		ids := checkpointtest.Stopped(f)
		wantLatest(f, t, f.Checkpoints().FilePath(ids[2]))
		f.Compress(!first)
		x := f.Lock()
		ids = append(ids, checkpointtest.Mark(t, x, state.TriggerManual))
		checkpointtest.Must(t, x.Close())
		for i, id := range ids {
			if packed := strings.HasSuffix(f.Checkpoints().FilePath(id), disk.ZstExt); packed != (first == (i < 3)) {
				t.Errorf("checkpoint %d is in %s", i, f.Checkpoints().FilePath(id))
			}
			file, err := f.Open().ReadCheckpoint("PRD-009", id)
			checkpointtest.Must(t, err)
			if file.ID != id {
				t.Errorf("the file of %s is of checkpoint %s", id, file.ID)
			}
		}
		wantLatest(f, t, f.Checkpoints().FilePath(ids[3]))
		if v := checkpointtest.Validated(f, validate.Options{PRD: "PRD-009"}); v.Damaged() || len(v.Sessions[0].Checkpoints) != 4 {
			t.Errorf("%+v", v)
		}
		hasSizes(f, t, ids)
		x = f.Lock()
		_, err := prune.Delete(context.Background(), x, prune.DeleteOptions{References: []string{ids[0], ids[2]}})
		checkpointtest.Must(t, err)
		checkpointtest.Must(t, x.Close())
		left, err := f.Checkpoints().IDs()
		checkpointtest.Must(t, err)
		checkpointtest.Same(t, "remaining files", left, []string{ids[1], ids[3]})
	})
}

// hasSizes fails the test unless the inventory counts each checkpoint with the size of
// its file.
func hasSizes(f *checkpointtest.Fixture, t *testing.T, ids []string) {
	t.Helper()
	s := f.Open()
	records, err := inventory.ReadSessions(s, "PRD-009", nil)
	checkpointtest.Must(t, err)
	held, err := inventory.Measure(context.Background(), s, "PRD-009", records)
	checkpointtest.Must(t, err)
	for _, id := range ids {
		info, err := f.FS.Lstat(f.Checkpoints().FilePath(id))
		checkpointtest.Must(t, err)
		if held.Held[id].Own != info.Size() {
			t.Errorf("%s counts as %d bytes, but its file has %d", id, held.Held[id].Own, info.Size())
		}
	}
}

// TestRollbackFromFile replaces the journal by one that no longer has the events of a
// checkpoint. A rollback to that checkpoint must restore the state from the checkpoint's
// file.
func TestRollbackFromFile(t *testing.T) {
	t.Parallel()
	checkpointtest.EachForm(t, func(t *testing.T, f *checkpointtest.Fixture) {
		ids := checkpointtest.Stopped(f)
		file, err := f.Open().ReadCheckpoint("PRD-009", ids[0])
		checkpointtest.Must(t, err)
		snap, err := f.Open().Load("PRD-009")
		checkpointtest.Must(t, err)
		line, err := journal.NewEncoder().Line(&state.Commit{Seq: snap.State.Seq, Time: snap.State.UpdatedAt, State: snap.State, Prev: journal.Genesis})
		checkpointtest.Must(t, err)
		f.Write("PRD-009/journal.jsonl", line)
		x := f.Lock()
		_, err = rollback.Run(context.Background(), x, nil, rollback.Options{To: ids[0], Scope: state.RollbackState, By: checkpointtest.By})
		checkpointtest.Must(t, err)
		if x.State().Steps != file.Step || x.State().Current != ids[0] {
			t.Errorf("after the rollback the session is at step %d, checkpoint %s", x.State().Steps, x.State().Current)
		}
		checkpointtest.Must(t, x.Close())
	})
}

// TestTwoFilesOfOneCheckpoint gives a checkpoint a plain and a compressed file. A reader
// must use a valid one, and the next owner must remove the other. If both are damaged,
// the owner keeps both, and a rebuild keeps copies of both.
func TestTwoFilesOfOneCheckpoint(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ plain, packed bool }{
		"both valid": {true, true}, "plain damaged": {false, true}, "compressed damaged": {true, false}, "both damaged": {false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := checkpointtest.InMemory(t)
			ids := checkpointtest.Stopped(f)
			id := ids[2]
			plain, packed := otherForm(f, t, id)
			if !tt.plain {
				checkpointtest.Must(t, store.WriteFile(f.FS, plain, []byte("{}\n")))
			}
			if !tt.packed {
				checkpointtest.Must(t, store.WriteFile(f.FS, packed, []byte("no frame")))
			}
			whole := tt.plain || tt.packed
			if _, err := f.Open().ReadCheckpoint("PRD-009", id); (err == nil) != whole {
				t.Errorf("read: %v", err)
			}
			if v := checkpointtest.Validated(f, validate.Options{}); v.Damaged() == whole {
				t.Errorf("%+v", v)
			}
			checkpointtest.Must(t, f.Lock().Close())
			left := f.FilesOf(id)
			switch {
			case !whole && len(left) != 2, whole && len(left) != 1, whole && tt.plain && left[0] != plain, whole && !tt.plain && left[0] != packed:
				t.Errorf("remaining files: %q", left)
			}
			x := f.Lock()
			_, err := repair.RebuildCheckpoints(context.Background(), x, nil, nil)
			checkpointtest.Must(t, err)
			checkpointtest.Must(t, x.Close())
			if v := checkpointtest.Validated(f, validate.Options{Deep: true}); v.Damaged() || len(f.FilesOf(id)) != 1 {
				t.Errorf("after rebuilding: %+v", v)
			}
			for _, path := range []string{plain, packed} {
				kept := filepath.Join(f.Dir, "PRD-009", filepath.Base(path)+".damaged")
				if _, err := f.FS.Lstat(kept); (err == nil) == whole {
					t.Errorf("%s: %v", kept, err)
				}
			}
			wantLatest(f, t, f.Checkpoints().FilePath(id))
		})
	}
}

// TestRebuiltInTheOtherForm damages the newest checkpoint's file and rebuilds it with the
// other setting of compression. `latest` must name the new file, and undamaged files must
// keep their form.
func TestRebuiltInTheOtherForm(t *testing.T) {
	t.Parallel()
	checkpointtest.EachForm(t, func(t *testing.T, f *checkpointtest.Fixture) {
		ids := checkpointtest.Stopped(f)
		checkpointtest.FlipByte(f, f.CheckpointFile(ids[2]), 30)
		f.Compress(!f.Options.Policy.Compress)
		x := f.Lock()
		_, err := repair.RebuildCheckpoints(context.Background(), x, nil, nil)
		checkpointtest.Must(t, err)
		wantLatest(f, t, f.Checkpoints().FilePath(ids[2]))
		checkpointtest.Must(t, x.Close())
		is := strings.HasSuffix(f.Checkpoints().FilePath(ids[2]), disk.ZstExt)
		if was := strings.HasSuffix(f.Checkpoints().FilePath(ids[1]), disk.ZstExt); is == was || is != f.Options.Policy.Compress {
			t.Errorf("rebuilt compressed: %v, the other compressed: %v", is, was)
		}
	})
}

// TestExportIsPlain: an archive must not depend on whether checkpoint files are
// compressed. An import must write new checkpoint files in the form that the importing
// store is set to.
func TestExportIsPlain(t *testing.T) {
	t.Parallel()
	p, q := checkpointtest.NewProject(t, store.NewMemory()), checkpointtest.NewProject(t, store.NewMemory())
	p.Begin("session-1")
	archive := checkpointtest.Exported(p)
	_, err := checkpointtest.TakeIn(q.Open(), archive, false)
	checkpointtest.Must(t, err)
	old := map[string]bool{}
	for _, ref := range p.State().Checkpoints {
		old[ref.ID] = true
	}
	q.Compress(true)
	p.Continue("more")
	_, err = checkpointtest.TakeIn(q.Open(), checkpointtest.Exported(p), false) // continues the session that q has: the older checkpoints exist there already
	checkpointtest.Must(t, err)
	for _, ref := range p.State().Checkpoints {
		if paths := q.FilesOf(ref.ID); len(paths) != 1 || strings.HasSuffix(paths[0], disk.ZstExt) == old[ref.ID] {
			t.Errorf("%s is in %q", ref.ID, paths)
		}
	}
	checkpointtest.NeedsWhole(t, q.Open(), "PRD-009")
	if !bytes.Equal(checkpointtest.Exported(p), checkpointtest.Exported(q)) {
		t.Error("an export from compressed files differs from an export from plain files")
	}
	r := checkpointtest.NewProject(t, store.NewMemory())
	r.Compress(true)
	_, err = checkpointtest.TakeIn(r.Open(), archive, false)
	checkpointtest.Must(t, err)
	for id := range old {
		if !strings.HasSuffix(r.Checkpoints().FilePath(id), disk.ZstExt) {
			t.Errorf("imported as %s", r.Checkpoints().FilePath(id))
		}
	}
	if !bytes.Equal(archive, checkpointtest.Exported(r)) {
		t.Error("the export of an imported session differs from the imported archive")
	}
}

// TestMigrateCompressed migrates sessions of older versions with compressed checkpoint
// files. The migrated files must be compressed, too, and the backup must have the old
// files unchanged.
func TestMigrateCompressed(t *testing.T) {
	t.Parallel()
	eachFormat(t, func(t *testing.T, k *kept) {
		if k.version == state.FormatVersion {
			return
		}
		k.Compress(true)
		s := k.Open()
		dir := s.Layout().CheckpointsIn(s.Layout().PRDDir(k.prd))
		before := map[string][]byte{}
		for _, ref := range k.state.Checkpoints {
			stored, err := dir.Read(ref.ID)
			checkpointtest.Must(t, err)
			checkpointtest.Must(t, dir.Remove(ref.ID))
			checkpointtest.Must(t, dir.Put(disk.EncodedCheckpoint{ID: ref.ID, JSON: [][]byte{stored.JSON}}))
			before[ref.ID], err = store.ReadFile(k.FS, dir.FilePath(ref.ID))
			checkpointtest.Must(t, err)
		}
		_, err := repair.Migrate(t.Context(), s, k.prd, checkpointtest.By)
		checkpointtest.Must(t, err)
		k.readable(t, s)
		for id, data := range before {
			stored, err := dir.Read(id)
			checkpointtest.Must(t, err)
			f, err := stored.Decode()
			if checkpointtest.Must(t, err); f.FormatVersion != state.FormatVersion || !strings.HasSuffix(stored.Path, disk.ZstExt) {
				t.Errorf("%s is of version %s", stored.Path, f.FormatVersion)
			}
			old, err := store.ReadFile(k.FS, filepath.Join(s.Layout().PRDDir(k.prd), "backup-"+k.version, disk.CheckpointsDir, filepath.Base(stored.Path)))
			if checkpointtest.Must(t, err); !bytes.Equal(old, data) {
				t.Errorf("the backup of %s differs from the old file", id)
			}
		}
	})
}

// TestCompressedBytes: packing the same bytes twice must give the same zstd frame.
// Unpacking must refuse data that is longer than the limit, whether or not the frame
// header has the length.
func TestCompressedBytes(t *testing.T) {
	t.Parallel()
	json := bytes.Repeat([]byte(`{"format_version":"1.1","id":"CP-a"}`), 1000)
	one, err := disk.NewCompressor(1 << 20).Pack(json)
	checkpointtest.Must(t, err)
	two, err := disk.NewCompressor(1 << 20).Pack(json)
	checkpointtest.Must(t, err)
	if !bytes.Equal(one, two) || len(one) > len(json)/20 || !bytes.HasPrefix(one, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		t.Errorf("%d bytes and %d bytes of %d", len(one), len(two), len(json))
	}
	stream := func(n int) []byte { // returns a frame whose header has no length
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(64<<10))
		checkpointtest.Must(t, err)
		_, err = w.Write(make([]byte, n))
		checkpointtest.Must(t, errors.Join(err, w.Flush(), w.Close()))
		return b.Bytes()
	}
	whole, err := disk.NewCompressor(8 << 20).Pack(make([]byte, 4<<20))
	checkpointtest.Must(t, err)
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

// TestCompressedDamage: a compressed checkpoint file with invalid content must be
// reported as damaged, with a remedy. Reading it must not panic, nor fail with another
// error.
func TestCompressedDamage(t *testing.T) {
	t.Parallel()
	f := checkpointtest.InMemory(t)
	f.Compress(true)
	id := checkpointtest.Stopped(f)[1]
	good := f.Read(f.CheckpointFile(id))
	for name, data := range map[string][]byte{
		"empty": {}, "not compressed": []byte("{}\n"), "cut off": good[:len(good)-7], "longer": append(bytes.Clone(good), 'x'),
		"a frame to skip": {0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}, "the header alone": good[:6],
	} {
		f.Write(f.CheckpointFile(id), data)
		_, err := f.Open().ReadCheckpoint("PRD-009", id)
		var damaged *state.DamagedError
		if !errors.As(err, &damaged) || !strings.HasSuffix(damaged.Path, ".json.zst") || !strings.Contains(damaged.Remedy, "checkpoint rebuild") {
			t.Errorf("%s: %v", name, err)
		}
		v := checkpointtest.Validated(f, validate.Options{})
		if valid, invalid := v.Count(); valid != 2 || invalid != 1 {
			t.Errorf("%s: %d valid, %d not", name, valid, invalid)
		}
	}
}

// FuzzCheckpointFile reads any bytes as a plain or compressed checkpoint file. The file
// must be reported as damaged, or its content must be the same after it is written and
// read again.
func FuzzCheckpointFile(f *testing.F) {
	for _, compress := range []bool{false, true} {
		fix := checkpointtest.InMemory(f)
		fix.Compress(compress)
		x := fix.Run()
		id, _ := x.Checkpoint(state.TriggerManual, "seed", nil)
		checkpointtest.Must(f, x.Close())
		f.Add(fix.Read(fix.CheckpointFile(id)), compress)
	}
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0xff, 0xff, 0xff, 0xff}, true)
	f.Fuzz(func(t *testing.T, data []byte, compressed bool) {
		d := disk.CheckpointDir{FS: store.NewMemory(), Path: "/checkpoints", Compress: compressed, Zstd: disk.NewCompressor(1 << 20)}
		checkpointtest.Must(t, store.MkdirAll(d.FS, d.Path))
		checkpointtest.Must(t, store.WriteFile(d.FS, d.FilePath("CP-a"), data))
		stored, err := d.Read("CP-a")
		checkpointtest.Must(t, err)
		if _, err := stored.Decode(); err != nil {
			return
		}
		checkpointtest.Must(t, d.Put(disk.EncodedCheckpoint{ID: "CP-b", JSON: [][]byte{stored.JSON}}))
		again, err := d.Read("CP-b")
		checkpointtest.Must(t, err)
		if !bytes.Equal(again.JSON, stored.JSON) {
			t.Fatal("the content changed when it was written and read again")
		}
	})
}

// TestCheckpointFileNames: the names of checkpoint files and archive members must lead
// back to the checkpoint's id. Other names must not be taken for a checkpoint, and an id
// with a path in it must be refused.
func TestCheckpointFileNames(t *testing.T) {
	t.Parallel()
	at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, id := range []string{
		"CP-init-20250101T000000Z-aaaa0000", disk.NewCheckpointID("a b/ü-1.json", at, ""), disk.NewCheckpointID("-", at, ""),
	} {
		for _, name := range disk.FileNames(id) {
			if got, ok := disk.CheckpointOf(name); !ok || got != id {
				t.Errorf("%s names checkpoint %q", name, got)
			}
		}
		if got, ok := disk.CheckpointOfMember(disk.CheckpointMember(id)); !ok || got != id {
			t.Errorf("%s names checkpoint %q", disk.CheckpointMember(id), got)
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
			t.Errorf("%s names checkpoint %q", name, id)
		}
	}
	for _, member := range []string{
		"checkpoints/" + some + ".json.zst", "checkpoints/.json", "checkpoints/../" + some + ".json", "logs/" + some + ".json",
	} {
		if id, ok := disk.CheckpointOfMember(member); ok {
			t.Errorf("%s names checkpoint %q", member, id)
		}
	}
	d := checkpointtest.InMemory(t).Checkpoints()
	if _, err := d.Read("CP-a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read a checkpoint without a file: %v", err)
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

// TestRemover removes checkpoint files in both forms, few and many at once. A checkpoint
// without files must not be an error.
func TestRemover(t *testing.T) {
	t.Parallel()
	for _, many := range []int{1, disk.RemoveMany} {
		d := disk.CheckpointDir{FS: store.NewMemory(), Path: "/checkpoints"}
		plain, packed, both := "CP-a-20250101T000000Z-aaaaaaaa", "CP-b-20250101T000000Z-bbbbbbbb", "CP-c-20250101T000000Z-cccccccc"
		for _, name := range []string{disk.FileNames(plain)[0], disk.FileNames(packed)[1], disk.FileNames(both)[0], disk.FileNames(both)[1]} {
			checkpointtest.Must(t, store.MkdirAll(d.FS, d.Path))
			checkpointtest.Must(t, store.WriteFile(d.FS, filepath.Join(d.Path, name), []byte("{}")))
		}
		remove, err := d.Remover(many)
		checkpointtest.Must(t, err)
		for _, id := range []string{plain, packed, both, "CP-d-20250101T000000Z-dddddddd"} {
			checkpointtest.Must(t, remove(id))
		}
		if left, err := d.List(); err != nil || len(left) > 0 {
			t.Errorf("removing %d checkpoints left %v: %v", many, left, err)
		}
	}
}
