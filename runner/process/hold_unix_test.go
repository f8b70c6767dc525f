//go:build unix

package process

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOnlyAnUnusedEmptyLogIsRemoved holds that a log stays if something was printed, or if a
// process still has it as its output.
func TestOnlyAnUnusedEmptyLogIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		text       string
		held, kept bool
	}{
		"empty":           {},
		"with text":       {text: "x", kept: true},
		"held":            {held: true, kept: true},
		"with text, held": {text: "x", held: true, kept: true},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.held {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			lockLog(f)
		}
		removeEmpty(path)
		if _, err := os.Lstat(path); (err == nil) != c.kept {
			t.Errorf("%s: %v", name, err)
		}
	}
}
