package runner_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/runner"
)

func TestLogEnd(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300<<10)
	for _, test := range []struct {
		name, log string
		limit     int
		want      string
	}{
		{"empty", "", 100, ""},
		{"short", "one\ntwo\n", 100, "one\ntwo\n"},
		{"no last newline", "one\ntwo", 100, "one\ntwo"},
		{"only the last lines", "one\ntwo\nthree\n", 10, "two\nthree\n"},
		{"at least a line", "one\nthree\n", 2, "three\n"},
		{"a long line does not displace the error before it", "a.go:1:2: undefined: x\n" + long + "\nend\n", 64 << 10, "a.go:1:2: undefined: x\n" + long[:8<<10] + "…\nend\n"},
		{"a long line without an end", "one\n" + long, 64 << 10, "one\n" + long[:8<<10] + "…\n"},
		{"a line of just the longest length", long[:8<<10-1] + "\nend\n", 64 << 10, long[:8<<10-1] + "\nend\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a.log")
			if err := os.WriteFile(path, []byte(test.log), 0o600); err != nil {
				t.Fatal(err)
			}
			got, whole, err := runner.LogEnd(path, test.limit)
			if dropped := strings.HasPrefix(test.log, "one") && !strings.HasPrefix(got, "one"); err != nil || got != test.want || whole == dropped {
				t.Errorf("%d bytes, want %d: %.100q (%v)", len(got), len(test.want), got, err)
			}
		})
	}
	if _, _, err := runner.LogEnd(filepath.Join(t.TempDir(), "none"), 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing log: %v", err)
	}
}
