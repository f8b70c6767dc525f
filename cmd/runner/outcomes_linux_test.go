package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// failureShown is the error of a workstream in the output of `status --json`.
type failureShown struct {
	Outcome  string `json:"outcome"`
	Message  string `json:"message"`
	Signal   string `json:"signal"`
	ExitCode int    `json:"exit_code"`
}

// failuresOf returns the errors of the workstreams by name, from `status --json`.
func failuresOf(t *testing.T, dir string) map[string]failureShown {
	t.Helper()
	var status struct {
		Phases []struct {
			Workstreams []struct {
				Name  string       `json:"name"`
				Error failureShown `json:"error"`
			} `json:"workstreams"`
		} `json:"phases"`
	}
	if err := json.Unmarshal([]byte(run(t, dir, 0, "status", "PRD-001", "--json")), &status); err != nil {
		t.Fatal(err)
	}
	all := map[string]failureShown{}
	for _, p := range status.Phases {
		for _, w := range p.Workstreams {
			all[w.Name] = w.Error
		}
	}
	return all
}

// TestWaysToEndAreToldApart runs workstreams that fail, or fail to start, in every way.
// The build and `status --json` must give each its own outcome, exit code, signal and
// message. The PRD document must hold the error of one of them, and the status must show
// that error.
func TestWaysToEndAreToldApart(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t, "")
	for name, file := range map[string]struct {
		content string
		mode    os.FileMode
	}{
		"plain": {"x", 0o600}, "text": {"echo no", 0o700}, "lost": {"#!/no/such/shell\n", 0o700}, "busy": {"#!/bin/true\n", 0o700},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(file.content), file.mode); err != nil {
			t.Fatal(err)
		}
	}
	busy, err := os.OpenFile(filepath.Join(dir, "busy"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	ways := []struct {
		workstream string // lines of its block
		want       failureShown
	}{
		{`script = "exit 1"`, failureShown{"exited", "exit code 1", "", 1}},
		{`script = "exit 126"`, failureShown{"exited", "exit code 126", "", 126}},
		{`script = "exit 127"`, failureShown{"exited", "exit code 127", "", 127}},
		{`script = "exit 255"`, failureShown{"exited", "exit code 255", "", 255}},
		{`script = "exit 139"`, failureShown{"exited", "exit code 139", "", 139}},
		{`command = ["no-such-program"]`, failureShown{"not_found", "not found in PATH", "", 0}},
		{`command = ["./missing"]`, failureShown{"not_found", "no such file", "", 0}},
		{`command = ["./plain"]`, failureShown{"not_executable", "permission denied", "", 0}},
		{`command = ["./"]`, failureShown{"not_executable", "it is a directory", "", 0}},
		{`command = ["./text"]`, failureShown{"not_executable", "a first line such as #!/bin/sh", "", 0}},
		{`command = ["./lost"]`, failureShown{"not_executable", "the interpreter it names does not exist", "", 0}},
		{`command = ["./busy"]`, failureShown{"not_executable", "text file busy", "", 0}},
		{"command = [\"true\"]\n dir = \"nowhere\"", failureShown{"not_executable", "does not exist", "", 0}},
		{"script = \"exec sleep 300\"\n timeout = \"100ms\"", failureShown{"timed_out", "timed out after 100ms", "", 0}},
	}
	for _, signal := range strings.Fields("HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM XCPU XFSZ VTALRM SYS") {
		ways = append(ways, struct {
			workstream string
			want       failureShown
		}{fmt.Sprintf(`script = "kill -%s $$"`, signal), failureShown{"signaled", "ended by SIG" + signal, "SIG" + signal, 0}})
	}
	var source strings.Builder
	source.WriteString("pipeline \"PRD-001\" {\n phase \"one\" {\n")
	for i, way := range ways {
		fmt.Fprintf(&source, "workstream \"W%d\" {\n %s\n}\n", i, way.workstream)
	}
	source.WriteString("}\n}\n")
	replace(t, filepath.Join(dir, "PRD-001.hcl"), []byte(source.String()))
	build := run(t, dir, exitFailed, "build", "PRD-001", "--keep-going")

	shown := failuresOf(t, dir)
	for i, way := range ways {
		got := shown[fmt.Sprintf("W%d", i)]
		if got.Outcome != way.want.Outcome || got.Signal != way.want.Signal || got.ExitCode != way.want.ExitCode || !strings.Contains(got.Message, way.want.Message) {
			t.Errorf("%s: got %+v, want %+v", way.workstream, got, way.want)
		}
		if !strings.Contains(build, way.want.Message) {
			t.Errorf("%s: the build does not show %q:\n%s", way.workstream, way.want.Message, build)
		}
	}
	var document struct {
		Error struct{ Workstream, Message string }
	}
	if err := json.Unmarshal(read(t, filepath.Join(dir, ".runner", "PRD-001.json")), &document); err != nil {
		t.Fatal(err)
	}
	first := shown[document.Error.Workstream]
	if document.Error.Message == "" || document.Error.Message != first.Message {
		t.Errorf("the error in the PRD document is %+v, in the status %+v", document.Error, first)
	}
	if status := run(t, dir, 0, "status", "PRD-001"); !strings.Contains(status, first.Message) {
		t.Errorf("the status does not show %q:\n%s", first.Message, status)
	}
}
