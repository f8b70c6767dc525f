package pipeline

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/hcl/v2"
)

// protected builds the valid example.
func protected(t *testing.T, in Inputs) *Pipeline {
	t.Helper()
	source, err := os.ReadFile("testdata/valid/protect.hcl")
	if err != nil {
		t.Fatal(err)
	}
	return build(t, string(source), in)
}

func TestProtect(t *testing.T) {
	t.Parallel()
	p := protected(t, Inputs{})
	for name, want := range map[string]*Protect{
		"migrate": {
			Scope:         []string{"db/**", "config/*.yaml", "!config/local.yaml"},
			ScopePatterns: []string{"db/**\x00config/local.yaml\x00config/local.yaml/**", "config/*.yaml\x00config/local.yaml\x00config/local.yaml/**"},
			Savepoints:    []string{"orders", "stock"}, State: []string{"schema_version"},
			Expiry: 24 * time.Hour, KeepOnFailure: true, StrictScope: true,
		},
		"fill": {
			Scope: []string{"db/**"}, ScopePatterns: []string{"db/**"}, Savepoints: []string{"orders"}, State: []string{"schema_version"},
			NeverExpires: true,
		},
		`region["eu"]`: {Scope: []string{"regions/eu"}, ScopePatterns: []string{"regions/eu", "regions/eu/**"}, State: []string{"region_eu"}},
		"check":        {Savepoints: []string{"test", "orders"}},
		"local":        nil,
	} {
		ws := p.Workstream(name)
		if diff := cmp.Diff(want, ws.Protect, cmpopts.IgnoreTypes(hcl.Range{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if ws.Mutates != (name == "migrate") {
			t.Errorf("%s: Mutates is %v", name, ws.Mutates)
		}
		// After a rollback a gate has nothing that it could judge again.
		if rollsBack := want != nil && !want.KeepOnFailure; ws.RerunOnGateFailure != rollsBack {
			t.Errorf("%s: RerunOnGateFailure is %v", name, ws.RerunOnGateFailure)
		}
	}
}

func TestSavepoints(t *testing.T) {
	t.Parallel()
	type savepoint struct {
		name   string
		driver Driver
		method SaveMethod
		url    string
		secret bool
	}
	var got []savepoint
	for _, s := range protected(t, Inputs{Variables: map[string]Input{"test": {Text: "other.db"}}}).Savepoints {
		url, sensitive := s.URL()
		got = append(got, savepoint{s.Name, s.Driver, s.Method, url, sensitive})
	}
	want := []savepoint{
		{"orders", Postgres, SaveTemplate, "postgres://app:not-a-secret@localhost:5432/orders", true},
		{"stock", MySQL, SaveDump, "mysql://app@localhost:3306/prd-021", false},
		{"test", SQLite, SaveDump, "db/other.db", false},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(savepoint{})); diff != "" {
		t.Error(diff)
	}
}

// TestSavepointWithoutValue holds that a file can be checked without the value of a variable
// in a url, whose database is then not compared with others.
func TestSavepointWithoutValue(t *testing.T) {
	t.Parallel()
	p := build(t, `
variable "url" { type = string }
pipeline "PRD-001" {
  savepoint "a" {
    driver = "sqlite"
    url    = var.url
  }
  savepoint "b" {
    driver = "sqlite"
    url    = var.url
  }
  phase "one" {
    workstream "a" {
      command = ["a"]
      protect { savepoints = [savepoint.a] }
    }
    workstream "b" {
      command = ["a"]
      protect { savepoints = [savepoint.b] }
    }
  }
}`, Inputs{Open: true})
	if url, sensitive := p.Savepoints[0].URL(); url != "" || sensitive {
		t.Errorf("%q, %v", url, sensitive)
	}
}

// TestProtectIsNotInDigest holds that neither the protect block nor a savepoint changes
// what a workstream is.
func TestProtectIsNotInDigest(t *testing.T) {
	t.Parallel()
	without := build(t, inPhase(`
    workstream "w" {
      command         = ["a"]
      on_gate_failure = "rerun"
    }`), Inputs{}).Workstream("w")
	with := build(t, `
variable "password" { default = "p" }
variable "directory" { default = "db" }
pipeline "PRD-001" {
  savepoint "s" {
    driver = "mysql"
    url    = "mysql://u:${var.password}@localhost/s"
  }
  phase "main" {
    workstream "w" {
      command = ["a"]
      mutates = true
      protect {
        scope      = ["${var.directory}/**"]
        savepoints = [savepoint.s]
      }
    }
  }
}`, Inputs{}).Workstream("w")
	a, _ := without.Invocation(Results{})
	b, diags := with.Invocation(Results{})
	if diags.HasErrors() || a.Definition != b.Definition || len(with.Variables()) > 0 {
		t.Errorf("%s and %s, variables %v: %v", a.Definition, b.Definition, with.Variables(), diags)
	}
	if found := with.DifferencesFrom(without, Results{}, Results{}); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

// TestOverlappingProtection has workstreams a, b and c of one phase, of which c waits for a.
func TestOverlappingProtection(t *testing.T) {
	t.Parallel()
	const none = ""
	for name, test := range map[string]struct {
		a, b, c string // their lines
		want    int    // the number of mistakes
	}{
		"scopes of a and b":              {`protect { scope = ["x"] }`, `protect { scope = ["x/y"] }`, none, 1},
		"scope of a, artifacts of b":     {`protect { scope = ["*.db"] }`, `artifacts = ["x.db"]`, none, 1},
		"scope of b, artifacts of a":     {`artifacts = ["x.db"]`, `protect { scope = ["*.db"] }`, none, 1},
		"scopes of a and c":              {`protect { scope = ["x"] }`, none, `protect { scope = ["x"] }`, 0},
		"scope of c, artifacts of a":     {`artifacts = ["x/y"]`, none, `protect { scope = ["x"] }`, 0},
		"excluded":                       {`protect { scope = ["x", "!x/y"] }`, `artifacts = ["x/y"]`, none, 0},
		"other files":                    {`protect { scope = ["*.db"] }`, `protect { scope = ["*.sql"] }`, none, 0},
		"own artifacts":                  {"artifacts = [\"x/a\"]\nprotect { scope = [\"x\"] }", none, none, 0},
		"own artifacts and those of b":   {"artifacts = [\"x/a\"]\nprotect { scope = [\"x\"] }", `artifacts = ["x/b"]`, none, 1},
		"the same key":                   {`protect { state = ["k"] }`, `protect { state = ["k"] }`, none, 1},
		"the same key, one after other":  {`protect { state = ["k"] }`, none, `protect { state = ["j", "k"] }`, 0},
		"the same database of a, b, c":   {`protect { savepoints = [savepoint.s] }`, `protect { savepoints = [savepoint.s] }`, `protect { savepoints = [savepoint.s] }`, 1},
		"the same database of a and c":   {`protect { savepoints = [savepoint.s] }`, none, `protect { savepoints = [savepoint.s, savepoint.same] }`, 0},
		"the same database, other names": {`protect { savepoints = [savepoint.s] }`, `protect { savepoints = [savepoint.same] }`, none, 1},
		"other databases":                {`protect { savepoints = [savepoint.s] }`, `protect { savepoints = [savepoint.other] }`, none, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := "pipeline \"PRD-001\" {\n"
			for savepoint, url := range map[string]string{"s": "s.db", "same": "s.db", "other": "other.db"} {
				source += "savepoint \"" + savepoint + "\" {\ndriver = \"sqlite\"\nurl = \"" + url + "\"\n}\n"
			}
			source += "phase \"p\" {\nworkstream \"a\" {\ncommand = [\"x\"]\n" + test.a + "\n}\nworkstream \"b\" {\ncommand = [\"x\"]\n" + test.b +
				"\n}\nworkstream \"c\" {\ncommand = [\"x\"]\ndepends_on = [workstream.a]\n" + test.c + "\n}\n}\n}\n"
			got := summariesOf(source, Inputs{})
			for _, summary := range got {
				if summary != "Overlapping protection" {
					t.Error(summary)
				}
			}
			if len(got) != test.want {
				t.Errorf("%d mistakes, want %d: %q", len(got), test.want, got)
			}
		})
	}
}

func TestSymbolsOfSavepoints(t *testing.T) {
	t.Parallel()
	f, _ := Load("testdata/valid/protect.hcl")
	var got []string
	for _, symbol := range f.Symbols() {
		if symbol.Kind == "savepoint" {
			got = append(got, symbol.Name)
		}
	}
	if diff := cmp.Diff([]string{"orders", "stock", "test"}, got); diff != "" {
		t.Error(diff)
	}
}
