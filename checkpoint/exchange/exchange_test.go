package exchange_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/exchange"
	"prdrunner/checkpoint/state"
)

// The tests that rewrite the golden files with -update.
var update = flag.Bool("update", false, "rewrite the golden files")

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// targets returns the pipelines whose sessions begin from the checkpoints in testdata.
func targets() map[exchange.Format]exchange.Target {
	phase := func(name string, workstreams ...state.WorkstreamShape) state.PhaseShape {
		return state.PhaseShape{Name: name, Workstreams: workstreams}
	}
	ws := func(name string, batch int, gates ...string) state.WorkstreamShape {
		return state.WorkstreamShape{Name: name, Batch: batch, Gates: gates}
	}
	of := func(prd, title string, phases ...state.PhaseShape) exchange.Target {
		return exchange.Target{PRD: prd, Title: title, Now: now, Shape: state.Shape{Phases: phases}}
	}
	goTeam := of("PRD-001", "Token refresh", phase("design", ws("init", 1), ws("requirements", 2), ws("architecture", 3)), phase("build", ws("implementation", 1, "tests"), ws("review", 2)))
	goTeam.Shape.Phases[1].MaxIterations = 5
	spec := ws("create_spec", 2)
	spec.Agent = "system-architect"
	return map[exchange.Format]exchange.Target{
		exchange.PRD: of("PRD-009", "Cashier Workflows",
			phase("database", ws("WS1", 1, "schema-validation")), phase("services", ws("WS2", 1, "type-check")), phase("routes", ws("WS3", 1, "lint")),
			phase("hooks", ws("WS4", 1, "type-check")), phase("tests", ws("WS5", 1, "test-pass"))),
		exchange.GoTeam: goTeam,
		exchange.Orchestrate: of("PRD-022", "Implement authentication system",
			phase("research", ws("research", 1)), phase("plan", ws("planning", 1)), phase("implement", ws("code", 1)), phase("debug", ws("fix", 1)), phase("document", ws("docs", 1))),
		exchange.Crunch: withAgents(of("PRD-042", "JWT refresh",
			phase("enrich", ws("read_issue", 1), spec, ws("review_spec", 3, "approved")), phase("ready", ws("plan", 1)),
			phase("implementing", ws("code", 1)), phase("validation", ws("test", 1)), phase("docs", ws("document", 1))), "system-architect"),
	}
}

func withAgents(to exchange.Target, names ...string) exchange.Target {
	for _, name := range names {
		to.Shape.Agents = append(to.Shape.Agents, state.AgentShape{Name: name})
	}
	return to
}

// fixtures returns the checkpoints in testdata, each with its format and its golden file.
func fixtures() []struct {
	format       exchange.Format
	path, golden string
} {
	return []struct {
		format       exchange.Format
		path, golden string
	}{
		{exchange.PRD, "prd/initialized.json", "prd-initialized"},
		{exchange.PRD, "prd/paused.json", "prd-paused"},
		{exchange.PRD, "prd/failed.json", "prd-failed"},
		{exchange.PRD, "prd/complete.json", "prd-complete"},
		{exchange.GoTeam, "go-team", "go-team"},
		{exchange.Orchestrate, "orchestrate/orchestrate_auth_system_20251003_184530.json", "orchestrate"},
		{exchange.Crunch, "crunch", "crunch"},
	}
}

// TestImportOfExamples: the checkpoints of other tools become the documents in
// testdata/golden, with what has no place.
func TestImportOfExamples(t *testing.T) {
	t.Parallel()
	for _, f := range fixtures() {
		t.Run(f.golden, func(t *testing.T) {
			t.Parallel()
			taken, err := exchange.Import(f.format, filepath.Join("testdata", f.path), targets()[f.format])
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(struct {
				Document document.File `json:"document"`
				NoPlace  []string      `json:"no_place"`
				Warnings []string      `json:"warnings"`
			}{taken.Document, taken.NoPlace, taken.Warnings}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			golden := filepath.Join("testdata", "golden", f.golden+".json")
			if *update {
				if err := os.WriteFile(golden, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			begin(t, targets()[f.format], taken.Document)
		})
	}
}

// begin begins a session from a document, as it is read from its file.
func begin(t *testing.T, to exchange.Target, d document.File) *state.State {
	t.Helper()
	data, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if d, err = document.Decode(data); err != nil {
		t.Fatal(err)
	}
	if err := d.CheckWritten(to.PRD, &to.Shape); err != nil {
		t.Fatal(err)
	}
	st := &state.State{}
	err = st.Apply(state.Commit{Time: now, Events: []state.Event{state.SessionStarted{
		FormatVersion: state.FormatVersion, Session: "b", PRD: to.PRD, Title: to.Title, Shape: to.Shape, Imported: &d.Document,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// TestSchemas: the examples and what Runner writes are valid by the published schemas.
func TestSchemas(t *testing.T) {
	t.Parallel()
	validate(t, "prd", "testdata/prd/initialized.json", "testdata/prd/paused.json", "testdata/prd/failed.json", "testdata/prd/complete.json")
	validate(t, "go-team-manifest", "testdata/go-team/manifest.json")
	steps, err := filepath.Glob("testdata/go-team/cp-*.json")
	if err != nil || len(steps) != 4 {
		t.Fatal(steps, err)
	}
	validate(t, "go-team", steps...)
	validate(t, "orchestrate", "testdata/orchestrate/orchestrate_auth_system_20251003_184530.json")
	validate(t, "crunch", "testdata/crunch/CP-enrich-20250114-b4c5.yaml")
	validate(t, "crunch-index", "testdata/crunch/index.yaml")
}

// TestSchemasRefuse: a schema is no schema that accepts everything.
func TestSchemasRefuse(t *testing.T) {
	t.Parallel()
	for schema, wrong := range map[string]string{
		"prd":              `{"prd": "PRD-009", "status": "failed"}`,
		"go-team":          `{"id": "CP-1"}`,
		"go-team-manifest": `{"checkpoints": {}}`,
		"orchestrate":      `{"checkpoint_id": 1}`,
		"crunch":           `{"checkpoint_id": "CP-1", "version": "2.0"}`,
		"crunch-index":     `{"checkpoints": [{}], "latest": "CP-1", "total_checkpoints": 1}`,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(wrong))
		if err != nil {
			t.Fatal(err)
		}
		if compile(t, schema).Validate(value) == nil {
			t.Errorf("the schema %s accepts %s", schema, wrong)
		}
	}
}

func compile(t *testing.T, schema string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	compiled, err := c.Compile(filepath.Join("schema", schema+".schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func validate(t *testing.T, schema string, files ...string) {
	t.Helper()
	compiled := compile(t, schema)
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(path) == ".yaml" {
			data = jsonOf(t, data)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func jsonOf(t *testing.T, data []byte) []byte {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestMistakes: what does not fit is refused, with the line.
func TestMistakes(t *testing.T) {
	t.Parallel()
	crunch := "checkpoint_id: CP-1\nversion: \"1.0\"\n"
	for name, test := range map[string]struct {
		format exchange.Format
		file   string // its name
		data   string
		want   string
	}{
		"no JSON":              {exchange.Orchestrate, "a.json", "{\n\"status\":\n}", "a.json:3:"},
		"two values":           {exchange.Orchestrate, "a.json", "{} {}", "there is more behind the JSON value"},
		"no id":                {exchange.Orchestrate, "a.json", "{}", "a.json:1: checkpoint_id is missing"},
		"a wrong type":         {exchange.Orchestrate, "a.json", "{\"checkpoint_id\": \"a\",\n\"current_phase\": \"two\"}", "a.json:2: current_phase is a text, not a number"},
		"no whole number":      {exchange.Orchestrate, "a.json", "{\"checkpoint_id\": \"a\",\n\"current_phase\": 1.5}", "a.json:2: current_phase is 1.5, not a whole number"},
		"too many phases":      {exchange.Orchestrate, "a.json", "{\"checkpoint_id\": \"a\",\n\"total_phases\": 7}", "a.json:2: total_phases is 7, but PRD-022 has 5 phases"},
		"a phase too high":     {exchange.Orchestrate, "a.json", "{\"checkpoint_id\": \"a\",\n\"completed_phases\": [6]}", "is 6, but the phases of PRD-022 are 1 to 5"},
		"phase zero completed": {exchange.Orchestrate, "a.json", "{\"checkpoint_id\": \"a\",\n\"completed_phases\": [0]}", "is 0, but the phases of PRD-022 are 1 to 5"},
		"a field twice":        {exchange.Orchestrate, "a.json", "{\"checkpoint_id\": \"a\",\n\"checkpoint_id\": \"b\"}", "a.json:2: checkpoint_id is there twice"},
		"too deep":             {exchange.Orchestrate, "a.json", strings.Repeat("[", 200), "it nests more than 100 values"},
		"another version":      {exchange.Crunch, "a.yaml", "checkpoint_id: CP-1\nversion: \"2.0\"\n", `a.yaml:2: version is "2.0"; only version 1.0 can be read`},
		"an unknown phase":     {exchange.Crunch, "a.yaml", crunch + "workflow_state: {current_phase: deploy}\n", `a.yaml:3: workflow_state.current_phase is "deploy", but PRD-042 has no phase of that name; it has enrich, ready`},
		"an unknown node":      {exchange.Crunch, "a.yaml", crunch + "execution_graph:\n  node_states:\n    t1: {status: completed}\n", `names "t1", but PRD-042 has no workstream of that name; it has read_issue, create_spec`},
		"an alias":             {exchange.Crunch, "a.yaml", crunch + "a: &a [1]\nb: *a\n", "line 4: aliases are not read"},
		"no time":              {exchange.Crunch, "a.yaml", crunch + "created_at: yesterday\n", `a.yaml:3: created_at is "yesterday", not an ISO 8601 time`},
		"it can't resume":      {exchange.Crunch, "a.yaml", crunch + "recovery_info: {can_resume: false, warnings: [the branch is gone]}\n", "says that nothing can resume from the checkpoint: the branch is gone"},
		"two documents":        {exchange.Crunch, "a.yaml", crunch + "---\na: 1\n", "more than one YAML document"},
		"nothing":              {exchange.Crunch, "a.yaml", "", "a.yaml"},
		"an unknown step":      {exchange.PRD, "a.json", `{"prd": "PRD-009", "timestamp": "2025-12-11T10:00:00Z", "status": "paused", "completed_workstreams": ["WS9"]}`, `"WS9"`},
		"no manifest":          {exchange.GoTeam, "a.json", `{}`, "manifest.json"},
		"a step that is gone": {exchange.GoTeam, "manifest.json", `{"session_id": "a", "current_checkpoint": "cp-01-init-1", "checkpoints": [{"id": "cp-01-init-1", "step": 1, "valid": true}]}`,
			"cp-01-init-1.json"},
		"a current one that is not valid": {exchange.GoTeam, "manifest.json", "{\"session_id\": \"a\",\n\"current_checkpoint\": \"cp-01\", \"checkpoints\": []}", `manifest.json:2: current_checkpoint is "cp-01", which is none of the valid checkpoints`},
		"an id that leads out":            {exchange.GoTeam, "manifest.json", `{"session_id": "a", "current_checkpoint": "../../etc/x", "checkpoints": [{"id": "../../etc/x", "step": 1, "valid": true}]}`, "path escapes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, test.file)
			if err := os.WriteFile(path, []byte(test.data), 0o600); err != nil {
				t.Fatal(err)
			}
			if test.format.IsDirectory() && test.format != exchange.Crunch {
				path = dir
			}
			taken, err := exchange.Import(test.format, path, targets()[test.format])
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, error %v, want %q", taken, err, test.want)
			}
		})
	}
}

// TestFormats: the names of formats are checked.
func TestFormats(t *testing.T) {
	t.Parallel()
	for _, f := range exchange.Formats() {
		if got, err := exchange.ParseFormat(string(f)); got != f || err != nil {
			t.Errorf("%s: %s, %v", f, got, err)
		}
	}
	if _, err := exchange.ParseFormat("terraform"); err == nil || !strings.Contains(err.Error(), "prd, go-team, orchestrate, crunch") {
		t.Error(err)
	}
	if slices.Contains(exchange.Formats(), "") {
		t.Error("a format without a name")
	}
	var mistakes *exchange.MistakesError
	if _, err := exchange.Import(exchange.Orchestrate, "testdata/prd/paused.json", targets()[exchange.Orchestrate]); !errors.As(err, &mistakes) {
		t.Errorf("a file of another format: %v", err)
	}
}
