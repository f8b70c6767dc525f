package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInputsThatAreNoFiles puts a pipe, a socket, a device and a sparse file of
// 1 TiB in the place of every file that a command reads: each is refused by
// name, at once, and nothing is written.
func TestInputsThatAreNoFiles(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	kinds := map[string]func(t *testing.T, path string){
		"pipe": func(t *testing.T, path string) { must(syscall.Mkfifo(path, 0o600)) },
		"socket": func(t *testing.T, path string) {
			t.Helper()
			at, err := os.Getwd() // the name of a socket must be short
			must(err)
			short, err := filepath.Rel(at, path)
			must(err)
			if len(path) < len(short) {
				short = path
			}
			l, err := net.Listen("unix", short)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
		},
		"device": func(_ *testing.T, path string) { must(os.Symlink("/dev/zero", path)) },
		"sparse": func(t *testing.T, path string) {
			t.Helper()
			must(os.WriteFile(path, nil, 0o600))
			if err := os.Truncate(path, 1<<40); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, command := range map[string][]string{
		"PRD-002.hcl": {"build", "PRD-002"},
		"given.hcl":   {"validate", "-f", "given.hcl"},
		"vars.hcl":    {"build", "PRD-001", "--var-file", "vars.hcl"},
		"plan.json":   {"build", "PRD-001", "--plan", "plan.json"},
		"runner.yaml": {"status"},
		"other.toml":  {"status", "--config", "other.toml"},
	} {
		for kind, put := range kinds {
			t.Run(name+" as "+kind, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				must(os.WriteFile(filepath.Join(dir, "PRD-001.hcl"), []byte("pipeline \"PRD-001\" {\n  phase \"a\" {\n    workstream \"b\" { command = [\"true\"] }\n  }\n}\n"), 0o600))
				put(t, filepath.Join(dir, name))
				var out bytes.Buffer
				cmd := exec.Command(binary, command...)
				cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, &out, &out, time.Second
				must(cmd.Start())
				hung := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
				err := cmd.Wait()
				if !hung.Stop() {
					t.Fatalf("it hangs: %s", out.Bytes())
				}
				if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != exitUsage || !strings.Contains(out.String(), name) {
					t.Errorf("%v: %s", err, out.Bytes())
				}
				if _, err := os.Lstat(filepath.Join(dir, ".runner")); err == nil {
					t.Error("it wrote a state directory")
				}
			})
		}
	}
}
