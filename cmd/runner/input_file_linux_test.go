package main

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// oddities returns, by kind, functions that put something in the place of a file that a
// reader can't read to its end, or not in reasonable time.
func oddities() map[string]func(t *testing.T, path string) {
	return map[string]func(t *testing.T, path string){
		"pipe": func(_ *testing.T, path string) { must(syscall.Mkfifo(path, 0o600)) },
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
}

// ends runs a command, which must end within a minute and use little memory. It returns
// the exit code and the output.
func ends(t *testing.T, binary, dir string, command ...string) (code int, said string) {
	t.Helper()
	const enough = 256 << 20 // bytes of memory
	var out bytes.Buffer
	cmd := exec.Command(binary, command...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, &out, &out, time.Second
	memory := measured(t, cmd)
	must(cmd.Start())
	hung := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // the caller checks the exit code
	if !hung.Stop() {
		t.Fatalf("runner %q hangs: %s", command, out.Bytes())
	}
	if used := memory(); used > enough {
		t.Errorf("runner %q used %d MiB", command, used>>20)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// TestInputsThatAreNoFiles puts a pipe, a socket, a device and a sparse file of 1 TiB in
// the place of every file that a command reads. The command must refuse the file at once,
// name it, and write nothing.
func TestInputsThatAreNoFiles(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	for name, command := range map[string][]string{
		"PRD-002.hcl": {"build", "PRD-002"},
		"given.hcl":   {"validate", "-f", "given.hcl"},
		"odd.hcl":     {"fmt", "odd.hcl"},
		"vars.hcl":    {"build", "PRD-001", "--var-file", "vars.hcl"},
		"plan.json":   {"build", "PRD-001", "--plan", "plan.json"},
		"runner.yaml": {"status"},
		"other.toml":  {"status", "--config", "other.toml"},
		"archive.tgz": {"checkpoint", "import", "archive.tgz", "--dry-run"},
	} {
		for kind, put := range oddities() {
			t.Run(name+" as "+kind, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				must(os.WriteFile(filepath.Join(dir, "PRD-001.hcl"), []byte("pipeline \"PRD-001\" {\n  phase \"a\" {\n    workstream \"b\" { command = [\"true\"] }\n  }\n}\n"), 0o600))
				put(t, filepath.Join(dir, name))
				code, said := ends(t, binary, dir, command...)
				damaged := strings.HasPrefix(name, "archive") && code == exitDamaged
				if code != exitUsage && !damaged || !strings.Contains(said, name) {
					t.Errorf("the file is not refused by name: exit code %d: %s", code, said)
				}
				if _, err := os.Lstat(filepath.Join(dir, ".runner")); err == nil {
					t.Error("the command wrote a state directory")
				}
			})
		}
	}
}

// TestWorkOnWhatIsNoFile puts the same in the place of files that a workstream reads,
// makes or reports, with git and without. The build must end, and must name the file if
// it fails. The commands that use the session afterwards must end, too.
func TestWorkOnWhatIsNoFile(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	type role struct {
		name, at, body string
		codes          map[string]int // of the build, by kind of oddity; 0 if a kind is missing; nil: any code
	}
	const failed = exitFailed
	cases := 0
	for _, r := range []role{
		{"artifact", "thing", `artifacts = ["thing"]`, map[string]int{"pipe": failed, "socket": failed, "device": 0, "sparse": failed}},
		{"artifact of a pattern", "gen/thing", `artifacts = ["gen/*"]`, map[string]int{"pipe": failed, "socket": failed, "device": 0, "sparse": failed}},
		{"input", "thing", `inputs = ["thing"]`, nil},
		{"document", "prd.md", "", nil},
		{"file of the workspace", "thing", "", map[string]int{}},
		{"ignored", ".gitignore", "", nil},
		{"output", "thing", `script = "mv thing $RUNNER_OUTPUT"`, map[string]int{"pipe": failed, "socket": failed, "device": failed, "sparse": failed}},
		{"log", "thing", `script = "echo error: no; mv thing .runner/PRD-001/logs/work.1.log; exit 1"`, map[string]int{"pipe": failed, "socket": failed, "device": failed}},
	} {
		all := oddities()
		for _, kind := range slices.Sorted(maps.Keys(all)) {
			put := all[kind]
			if r.name == "log" && kind == "sparse" {
				continue // logs have no limit, so runner logs prints the whole TiB
			}
			for _, git := range []bool{false, true} {
				if git && r.name == "ignored" && (kind == "pipe" || kind == "sparse") {
					continue // git itself, even git status, hangs at such a pipe and runs out of memory at such a file
				}
				if cases++; !inSample(cases, 4) {
					continue
				}
				t.Run(r.name+" as "+kind+map[bool]string{true: " in git"}[git], func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					if git {
						must(exec.Command("git", "init", "-q", dir).Run())
					}
					body := r.body
					if !strings.Contains(body, "script") {
						body += "\n      command = [\"true\"]"
					}
					document := ""
					if r.name == "document" {
						document = `document = "prd.md"`
					}
					must(os.WriteFile(filepath.Join(dir, "PRD-001.hcl"), fmt.Appendf(nil, "pipeline \"PRD-001\" {\n  %s\n  phase \"a\" {\n    workstream \"work\" {\n      %s\n    }\n  }\n}\n", document, body), 0o600))
					must(os.WriteFile(filepath.Join(dir, "runner.yaml"), []byte("workspace:\n  include: [\"**\"]\n"), 0o600))
					must(os.MkdirAll(filepath.Join(dir, filepath.Dir(r.at)), 0o755))
					put(t, filepath.Join(dir, r.at))
					code, said := ends(t, binary, dir, "build", "PRD-001")
					want, known := r.codes[kind]
					t.Logf("exit code %d: %s", code, said)
					if r.codes != nil && (known && code != want || !known && code != 0) {
						t.Errorf("exit code %d instead of %d: %s", code, want, said)
					}
					if code != 0 && !strings.Contains(said, filepath.Base(r.at)) && r.name != "output" && r.name != "log" {
						t.Errorf("exit code %d, and the output does not name the file: %s", code, said)
					}
					for _, command := range []string{
						"status PRD-001", "plan PRD-001 --resume", "logs PRD-001", "checkpoint diff PRD-001 0 workspace --files", "checkpoint create PRD-001",
						"checkpoint export PRD-001 -o archive.tgz", "checkpoint rollback PRD-001 0 --yes", "build PRD-001 --resume", "build PRD-001 --fresh",
					} {
						if code, said := ends(t, binary, dir, strings.Fields(command)...); code < 0 || strings.Contains(said, "panic: ") {
							t.Errorf("runner %s: exit code %d: %s", command, code, said)
						}
					}
				})
			}
		}
	}
}
