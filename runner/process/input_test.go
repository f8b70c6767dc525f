package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prdrunner/runner"
)

// TestInput: a process reads the text of its task from standard input, to its end. A process
// that does not read it is not waited for.
func TestInput(t *testing.T) {
	t.Parallel()
	e, err := New(Options{BaseEnv: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	large := strings.Repeat("a line\x00\xff\n", 100_000)
	for name, c := range map[string]struct {
		command []string
		input   string
		want    string
	}{
		"read":          {command: []string{"cat"}, input: "do this\n", want: "do this\n"},
		"large":         {command: []string{"cat"}, input: large, want: large},
		"empty":         {command: []string{"cat"}, want: ""},
		"not read":      {command: []string{"echo", "done"}, input: large, want: "done\n"},
		"read a little": {command: []string{"head", "-c", "6"}, input: large, want: "a line"},
		"not started":   {command: []string{"./no-such-program"}, input: large, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := filepath.Join(t.TempDir(), "log")
			_, err := e.Run(context.Background(), runner.Task{ID: name, Command: c.command, Dir: t.TempDir(), Log: log, Input: c.input}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(log)
			if silent := errors.Is(err, os.ErrNotExist); err != nil && !silent || silent != (c.want == "") {
				t.Fatalf("the log: %v", err)
			}
			if string(got) != c.want {
				t.Errorf("%d bytes arrive, want %d: %.40q", len(got), len(c.want), got)
			}
		})
	}
}
