package bundle

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"testing"
	"testing/iotest"

	"prdrunner/checkpoint/store"
)

// allocated returns how many bytes were allocated, freed or not.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// faulty is a file system whose operations are counted, and one of which
// fails. A write that fails may have written a part, or say so.
type faulty struct {
	store.FS
	at    int // 0: none
	done  int
	short bool
}

func (f *faulty) fault() error {
	if f.done++; f.done == f.at {
		return errBroken
	}
	return nil
}

func (f *faulty) Mkdir(name string, perm fs.FileMode) error {
	if err := f.fault(); err != nil {
		return err
	}
	return f.FS.Mkdir(name, perm)
}

func (f *faulty) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if err := f.fault(); err != nil {
		return nil, err
	}
	file, err := f.FS.OpenFile(name, flag, perm)
	return faultyFile{file, f}, err
}

type faultyFile struct {
	store.File
	fs *faulty
}

func (f faultyFile) Write(p []byte) (int, error) {
	if err := f.fs.fault(); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		if f.fs.short {
			err = nil
		}
		return n, err
	}
	return f.File.Write(p)
}

func (f faultyFile) Close() error {
	err := f.File.Close()
	if fault := f.fs.fault(); fault != nil {
		return fault
	}
	return err
}

// TestStageFails lets every operation on the file system fail once: the error
// is told, and nothing is left.
func TestStageFails(t *testing.T) {
	t.Parallel()
	archive := written(t, Gzip, samples())
	for _, short := range []bool{false, true} {
		for at := 1; ; at++ {
			fsys := &faulty{FS: store.NewMemory(), at: at, short: short}
			s, err := Stage(t.Context(), fsys, "/in", bytes.NewReader(archive), Limits{})
			if fsys.done < at {
				must(t, err)
				if want := 1 + 2*len(samples()) + 3; fsys.done != want {
					t.Errorf("%d operations, want %d", fsys.done, want)
				}
				must(t, s.Remove())
				break
			}
			if !errors.Is(err, errBroken) && (!short || !errors.Is(err, io.ErrShortWrite)) {
				t.Errorf("operation %d: %v", at, err)
			}
			if left, err := fsys.ReadDir("/"); err != nil || len(left) > 0 {
				t.Errorf("operation %d: left behind %v, %v", at, left, err)
			}
		}
	}
}

// unremovable is a file system that lost the right to remove.
type unremovable struct{ store.FS }

func (unremovable) Remove(string) error { return errBroken }

func TestUnstage(t *testing.T) {
	t.Parallel()
	fsys := store.NewMemory()
	archive := written(t, Gzip, samples())
	_, err := Stage(t.Context(), unremovable{fsys}, "/in", bytes.NewReader(archive[:len(archive)-1]), Limits{})
	var damaged *DamagedError
	if !errors.Is(err, errBroken) || !errors.As(err, &damaged) {
		t.Errorf("neither error may hide the other: %v", err)
	}
	if _, err := Stage(t.Context(), fsys, "/in", bytes.NewReader(archive), Limits{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("staged into what is there: %v", err)
	}
	must(t, Unstage(fsys, "/in"))
	must(t, Unstage(fsys, "/in"))

	must(t, fsys.Mkdir("/own", store.DirPerm))
	must(t, store.WriteFile(fsys, "/own/000001", nil))
	must(t, store.WriteFile(fsys, "/own/letter", nil))
	must(t, fsys.Symlink("own", "/link"))
	for _, dir := range []string{"/own", "/link", "/own/letter"} {
		if Unstage(fsys, dir) == nil {
			t.Errorf("removed %s", dir)
		}
	}
	if files, err := fsys.ReadDir("/own"); err != nil || len(files) != 2 {
		t.Errorf("left %v, %v", files, err)
	}
}

// TestReadingFails cuts the connection at every byte: that is no damage.
func TestReadingFails(t *testing.T) {
	t.Parallel()
	for ext, format := range formats() {
		archive := written(t, format, small())
		for n := range archive {
			r := io.MultiReader(bytes.NewReader(archive[:n]), iotest.ErrReader(errBroken))
			if _, err := Verify(t.Context(), r, Limits{}); !errors.Is(err, errBroken) || expected(err) {
				t.Fatalf("%s, after %d bytes: %v", ext, n, err)
			}
		}
	}
}

// TestOpenVerifies: what was changed in the staging directory is not read as
// if it were the archive's.
func TestOpenVerifies(t *testing.T) {
	t.Parallel()
	fsys := store.NewMemory()
	s, err := Stage(t.Context(), fsys, "/in", bytes.NewReader(written(t, Tar, map[string]string{"a": "hello"})), Limits{})
	must(t, err)
	if _, err := s.Open("b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opened what is not there: %v", err)
	}
	if _, err := s.Open("../in/000001"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opened a path: %v", err)
	}
	for _, data := range []string{"jello", "hell", "hello!", ""} {
		must(t, store.WriteFile(fsys, "/in/000001", []byte(data)))
		r, err := s.Open("a")
		must(t, err)
		var damaged *DamagedError
		if _, err := io.ReadAll(r); !errors.As(err, &damaged) {
			t.Errorf("read %q: %v", data, err)
		}
		must(t, r.Close())
	}
	must(t, fsys.Remove("/in/000001"))
	must(t, fsys.Symlink("/etc/passwd", "/in/000001"))
	if _, err := s.Open("a"); err == nil {
		t.Error("opened a link")
	}
}

func TestStagedFilesArePrivate(t *testing.T) {
	t.Parallel()
	fsys := store.OS()
	dir := t.TempDir() + "/in"
	_, err := Stage(t.Context(), fsys, dir, bytes.NewReader(written(t, Zstd, samples())), Limits{})
	must(t, err)
	info, err := os.Stat(dir)
	must(t, err)
	files, err := os.ReadDir(dir)
	must(t, err)
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 || len(files) != len(samples()) {
		t.Errorf("%s with %v", info.Mode(), files)
	}
	for i, f := range files {
		info, err := f.Info()
		must(t, err)
		if f.Name() != "00000"+string(rune('1'+i)) || runtime.GOOS != "windows" && info.Mode() != 0o600 {
			t.Errorf("%s is %s", f.Name(), info.Mode())
		}
	}
}
