package graph_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/pipeline"
	"prdrunner/pipeline/graph"
)

// sample has everything that a drawing shows: dependencies inside a phase and
// on an earlier one, results that are used, instances, what runs after failures, gates of both kinds,
// and names that need escaping.
func sample() *pipeline.Pipeline {
	lint := &pipeline.Gate{Name: "lint", Kind: pipeline.GateCommand}
	review := &pipeline.Gate{Name: "review", Kind: pipeline.GateMetric, Pause: true}
	signOff := &pipeline.Gate{Name: "sign-off", Kind: pipeline.GateApproval}
	return &pipeline.Pipeline{
		ID: "PRD-009", Title: `Cashier "Workflows" <1>`,
		Phases: []*pipeline.Phase{
			{Name: "database", Title: "database", Number: 1, Workstreams: []*pipeline.Workstream{
				{Name: "WS1", Title: "Database Layer", Batch: 1, Effect: pipeline.Once, Gates: []*pipeline.Gate{lint, review}},
			}},
			{Name: "services", Title: "Services\x1b[2J", Number: 2, MaxParallel: 2, Gates: []*pipeline.Gate{signOff}, Workstreams: []*pipeline.Workstream{
				{Name: `service["player"]`, Title: `service["player"]`, Batch: 1, Effect: pipeline.Idempotent, DependsOn: []string{"WS1"}, Upstream: []string{"WS1"}},
				{Name: "undo", Title: "undo", Batch: 2, Effect: pipeline.Idempotent, RunOn: pipeline.RunOnFailed, AllowFailure: true, DependsOn: []string{`service["player"]`}, Upstream: []string{`service["player"]`}},
				{Name: "WS3", Title: "Hooks", Batch: 2, Effect: pipeline.Pure, DependsOn: []string{`service["player"]`}, Upstream: []string{`service["player"]`, "WS1"}},
			}},
			{Name: "end", Title: "end", Number: 3, RunOn: pipeline.RunOnAlways, Workstreams: []*pipeline.Workstream{
				{Name: "cleanup", Title: "cleanup", Batch: 1, Effect: pipeline.Idempotent, Services: []string{"db", "web"}},
			}},
		},
	}
}

// TestDrawings compares each form with its file in testdata. With -update the
// files are written anew.
func TestDrawings(t *testing.T) {
	t.Parallel()
	g := graph.New(sample())
	tests := map[string]func(io.Writer) error{
		"graph.txt": g.WriteText,
		"graph.dot": g.WriteDOT,
		"graph.mmd": g.WriteMermaid,
		"graph.svg": func(w io.Writer) error { return g.Layout().WriteSVG(w, graph.Drawing{}) },
		"marked.svg": func(w io.Writer) error {
			marks := map[string]graph.Mark{"WS1": {Class: graph.ClassDone, Sign: "✓", Text: "completed"}, "lint (WS1)": {Class: graph.ClassFailed, Sign: "✗", Text: "failed"}}
			link := func(name string) string { return "#" + name }
			return g.Layout().WriteSVG(w, graph.Drawing{Mark: func(name string) graph.Mark { return marks[name] }, Link: link, Inside: true})
		},
		"graph.json": func(w io.Writer) error {
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(g)
		},
	}
	for name, write := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			if err := write(&got); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
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
		})
	}
}

var update = flag.Bool("update", false, "write the files in testdata anew")

// TestWriteErrors proves that a full disk is not taken for success.
func TestWriteErrors(t *testing.T) {
	t.Parallel()
	g := graph.New(sample())
	for name, write := range map[string]func(io.Writer) error{"text": g.WriteText, "dot": g.WriteDOT, "mermaid": g.WriteMermaid, "svg": func(w io.Writer) error { return g.Layout().WriteSVG(w, graph.Drawing{}) }} {
		if err := write(fullDisk{}); err == nil {
			t.Errorf("%s: no error from a writer that fails", name)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestEmptyListsAreLists holds the JSON form to [] where there is nothing.
func TestEmptyListsAreLists(t *testing.T) {
	t.Parallel()
	p := &pipeline.Pipeline{ID: "PRD-001", Phases: []*pipeline.Phase{{Name: "a", Workstreams: []*pipeline.Workstream{{Name: "WS1"}}}}}
	data, err := json.Marshal(graph.New(p))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("null")) {
		t.Errorf("null in %s", data)
	}
}

// TestPhasesWithoutWorkstreams: a phase whose for_each is empty leaves the order of those
// around it in the drawing.
func TestPhasesWithoutWorkstreams(t *testing.T) {
	t.Parallel()
	p := &pipeline.Pipeline{ID: "PRD-001", Phases: []*pipeline.Phase{
		{Name: "empty", Number: 1},
		{Name: "build", Number: 2, Workstreams: []*pipeline.Workstream{{Name: "WS1"}}},
		{Name: "none", Number: 3},
		{Name: "test", Number: 4, Workstreams: []*pipeline.Workstream{{Name: "WS2"}}},
		{Name: "nothing", Number: 5},
	}}
	var got bytes.Buffer
	if err := graph.New(p).WriteDOT(&got); err != nil {
		t.Fatal(err)
	}
	const arrow = `  "WS1" -> "WS2" [ltail=cluster_2, lhead=cluster_4, style=bold];`
	if strings.Count(got.String(), "ltail") != 1 || !strings.Contains(got.String(), arrow) {
		t.Errorf("without %s:\n%s", arrow, got.String())
	}
}
