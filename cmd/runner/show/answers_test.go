package show_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
)

var update = flag.Bool("update", false, "write the files in testdata anew")

// answer is something that a command answers.
type answer struct {
	name  string
	write func(w io.Writer) error
}

// plain returns an answer whose function returns no error.
func plain(name string, write func(w io.Writer)) answer {
	return answer{name, func(w io.Writer) error {
		write(w)
		return nil
	}}
}

// asJSON returns an answer for programs, in one line.
func asJSON(name string, report any) answer {
	return answer{name + " (JSON)", func(w io.Writer) error { return json.NewEncoder(w).Encode(report) }}
}

// inColour returns an answer as a terminal shows it.
func inColour(a answer) answer {
	return answer{a.name + " (in colour)", func(w io.Writer) error {
		screen := show.NewScreen(w)
		screen.Color = true
		return a.write(screen)
	}}
}

// compareAnswers compares answers with a file in testdata. With -update the file is
// written anew.
func compareAnswers(t *testing.T, file string, answers []answer) {
	t.Helper()
	var got bytes.Buffer
	for _, a := range answers {
		fmt.Fprintf(&got, "#### %s\n", a.name)
		if err := a.write(&got); err != nil {
			t.Errorf("%s: %v", a.name, err)
		}
		got.WriteString("\n")
	}
	golden := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", golden, diff)
	}
}

// cmdline is how the user reaches the workspace of the tests.
var cmdline = advice.CommandLine{Workdir: "/ws", DirFlag: "/ws"}

func at(minute int) time.Time { return time.Date(2025, 12, 11, 10, minute, 0, 0, time.UTC) }

func pointer[T any](value T) *T { return &value }

// paths returns n names of files.
func paths[T ~string](n int) []T {
	names := make([]T, n)
	for i := range names {
		names[i] = T(fmt.Sprintf("f%02d", i+1))
	}
	return names
}

func ref(id string, step int, name string) *state.CheckpointRef {
	return &state.CheckpointRef{ID: id, Seq: uint64(10 * step), Step: step, StepName: name, Trigger: state.TriggerManual, CreatedAt: at(step), Valid: true}
}

func capture(seq uint64, files int) *state.Capture {
	return &state.Capture{Capture: workspace.Capture{Listing: "sha256:l", Files: files, Bytes: 100}, Seq: seq, At: at(int(seq / 10))}
}

// session returns a session in which the first of two phases is done.
func session(status state.Status) *state.State {
	return &state.State{
		PRD: "PRD-009", Session: "s1", Title: "Cashier", Status: status, CreatedAt: at(0), UpdatedAt: at(5), Seq: 50, CurrentPhase: 2,
		Pipeline: state.FileRef{Path: "PRD-009.hcl"},
		Phases: []*state.Phase{
			{Name: "database", Status: state.Completed, Workstreams: []*state.Workstream{{Name: "WS1", Title: "Database Layer", Status: state.Completed, Step: 1}}},
			{Name: "services", Title: "Services", Status: state.Running, Workstreams: []*state.Workstream{{Name: "WS2", Status: state.Pending}}},
		},
	}
}

// TestProgress: the user reads how many phases are done.
func TestProgress(t *testing.T) {
	t.Parallel()
	st := session(state.StatusPaused)
	for _, test := range []struct {
		first, second state.StepStatus
		want          string
	}{
		{state.Running, state.Pending, "no phase of 2 completed"},
		{state.Completed, state.Running, "Phase 1 of 2 completed"},
		{state.Skipped, state.Completed, "Phase 2 of 2 completed"},
	} {
		st.Phases[0].Status, st.Phases[1].Status = test.first, test.second
		if got := info.Progress(st); got != test.want {
			t.Errorf("%s, %s: %q, want %q", test.first, test.second, got, test.want)
		}
	}
}

// TestJSON: what comes from outside can't steer a terminal through JSON either.
func TestJSON(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := show.JSON(&b, map[string]string{"a": "<\u009b>"}); err != nil || b.String() != "{\n  \"a\": \"<\\u009b>\"\n}\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestScreen(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	screen := show.NewScreen(&b)
	if _, err := screen.Write(nil); err != nil || screen.Used() {
		t.Errorf("nothing was written, and it says so: %v, %v", !screen.Used(), err)
	}
	if _, err := screen.Write([]byte("a\x1b[2J\n")); err != nil || !screen.Used() || b.String() != "a\\x1b[2J\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
