package transfer

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint"
)

// TestExportLeftover: an export must remove the temporary file of a killed export to the
// same path if the file is older than 10 minutes, and no other file.
func TestExportLeftover(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Now()
	s, err := checkpoint.OpenStore(filepath.Join(dir, ".runner"), checkpoint.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	random := strings.Repeat("A", 26)
	for name, age := range map[string]time.Duration{
		".tmp-F-" + random:         time.Hour,
		".tmp-F-B" + random[1:]:    time.Minute, // another export may be writing it
		".tmp-F-x-" + random:       time.Hour,   // of another archive
		".tmp-F-" + random[1:]:     time.Hour,   // too short for a name that Runner makes
		"tmp-F-" + random:          time.Hour,
		".tmp-other-" + random:     time.Hour,
		".tmp-F-x" + random[:20]:   time.Hour,
		".tmp-F-" + random + ".gz": time.Hour,
	} {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte("x"), 0o600))
		must(t, os.Chtimes(path, now.Add(-age), now.Add(-age)))
	}
	must(t, os.Mkdir(filepath.Join(dir, ".tmp-F-C"+random[1:]), 0o700))
	before, err := os.ReadDir(dir)
	must(t, err)
	must(t, pourFile(s, filepath.Join(dir, "F"), func(w io.Writer) error {
		_, err := io.WriteString(w, "archive")
		return err
	}))
	for _, e := range before {
		_, err := os.Lstat(filepath.Join(dir, e.Name()))
		if gone := errors.Is(err, os.ErrNotExist); gone != (e.Name() == ".tmp-F-"+random) {
			t.Errorf("%s is gone: %t", e.Name(), gone)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, "F")); string(data) != "archive" {
		t.Errorf("the archive holds %q, %v", data, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
