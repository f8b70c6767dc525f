package bundle

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestSpoolLeavesNothingBehind: what is only looked at can be read, and nothing
// of it is in the directory for temporary files, afterwards and on the way.
func TestSpoolLeavesNothingBehind(t *testing.T) {
	dir, temporary := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("TMP", temporary)
	empty := func(when string) {
		t.Helper()
		for _, dir := range []string{dir, temporary} {
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%s there is %v, %v", when, left, err)
			}
		}
	}
	want := samples()
	archive := written(t, Gzip, want)
	s, err := Spool(t.Context(), dir, bytes.NewReader(archive), Limits{})
	must(t, err)
	if os.PathSeparator == '/' {
		empty("while it is looked at")
	}
	for _, m := range s.Members {
		r, err := s.Open(m.Name)
		must(t, err)
		data, err := io.ReadAll(r) // which compares the sum
		if must(t, err); int64(len(data)) != m.Size {
			t.Errorf("%s has %d bytes, want %d", m.Name, len(data), m.Size)
		}
		must(t, r.Close())
	}
	if _, err := s.Open("nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a member that there is not: %v", err)
	}
	must(t, s.Remove())
	empty("afterwards")

	if _, err := Spool(t.Context(), dir, bytes.NewReader(archive[:len(archive)/2]), Limits{}); err == nil {
		t.Error("half an archive is taken for one")
	}
	empty("after an error")
	s, err = Spool(t.Context(), filepath.Join(dir, "nowhere"), bytes.NewReader(archive), Limits{})
	must(t, err)
	must(t, s.Remove())
	empty("where there can be no file without a name")
}

// TestSoonUnnamed is for where a file can't be made without a name.
func TestSoonUnnamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, remove, err := namelessFile(dir)
	must(t, err)
	_, err = f.WriteString("x")
	must(t, errors.Join(err, f.Close(), remove()))
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("there is %v, %v", left, err)
	}
}
