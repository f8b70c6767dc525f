package process

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSimilar(t *testing.T) {
	t.Parallel()
	one, two := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(one, "make"), filepath.Join(one, "mkfs"), filepath.Join(two, "python3"), filepath.Join(two, "build.sh")} {
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(one, "mkse"), nil, 0o644); err != nil { // not executable
		t.Fatal(err)
	}
	path := one + string(os.PathListSeparator) + filepath.Join(one, "missing") + string(os.PathListSeparator) + two
	for name, want := range map[string]string{
		"maek": "make", "mak": "make", "pyhton3": "python3", "python": "python3", "./biuld.sh": "./build.sh",
		"gradle": "", "m": "", "": "", "./make": "",
	} {
		if got := Similar(name, path, two); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
