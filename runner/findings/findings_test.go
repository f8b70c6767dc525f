package findings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// transcripts are outputs of the programs themselves, run in /ws, and what is to be
// found in each. A run that passed has nothing but warnings.
var transcripts = map[string]Finding{
	"go_build_fail":             {"undefined: price", "broken/b.go", 3, 23},
	"go_vet_fail":               {`fmt.Printf format %d has arg "x" of wrong type string`, "broken/b.go", 5, 24},
	"go_test_fail":              {"Total(2, 3) = 5, want 6", "price_test.go", 12, 0},
	"go_test_v_fail":            {"Total(2, 3) = 5, want 6", "price_test.go", 12, 0},
	"go_test_v_pass":            {Message: "ok  \tshop\t0.004s"},
	"go_test_subtest_fail":      {"total of 10, want 9", "cart_test.go", 12, 0},
	"go_test_v_subtest_fail":    {"total of 10, want 9", "cart_test.go", 12, 0},
	"go_test_subtest_panic":     {"panic: assignment to entry in nil map", "p_test.go", 10, 0},
	"go_test_v_subtest_panic":   {"panic: assignment to entry in nil map", "p_test.go", 10, 0},
	"go_test_panic":             {"panic: strings: negative Repeat count", "other/o_test.go", 14, 0},
	"gcc_fail":                  {"‘total’ undeclared (first use in this function)", "main.c", 5, 18},
	"gcc_link_fail":             {"undefined reference to `total'", "main.c", 0, 0},
	"gcc_warn_pass":             {"warning: unused variable ‘unused’ [-Wunused-variable]", "main.c", 2, 7},
	"gcc_werror_fail":           {"unused variable ‘unused’ [-Werror=unused-variable]", "main.c", 2, 7},
	"cargo_build_fail":          {"E0425: cannot find value `prize` in this scope", "src/lib.rs", 3, 9},
	"cargo_test_fail":           {"assertion `left == right` failed: two for three", "src/lib.rs", 18, 9},
	"cargo_test_nocapture_fail": {"assertion `left == right` failed: two for three", "src/lib.rs", 18, 9},
	"cargo_test_pass":           {"warning: unused variable: `unused`", "src/lib.rs", 2, 9},
	"rust_panic":                {"index out of bounds: the len is 0 but the index is 3", "main.rs", 3, 21},
	"javac_fail":                {"cannot find symbol", "Main.java", 3, 0},
	"java_exception":            {`java.lang.NumberFormatException: For input string: "x"`, "Main.java", 2, 0},
	"python_traceback":          {"json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)", "py/app.py", 4, 0},
	"unittest_fail":             {"AssertionError: 5 != 6", "py/test_price.py", 5, 0},
	"unittest_pass":             {Message: "OK"},
	"tsc_fail":                  {"TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.", "src/a.ts", 3, 18},
	"tsc_pretty_fail":           {"TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.", "src/a.ts", 3, 18},
	"eslint_fail":               {"'module' is not defined  no-undef", "js/src/good.js", 1, 1},
	"eslint_max_warnings_fail":  {"warning: 'spare' is assigned a value but never used  no-unused-vars", "js/src/spare.js", 1, 5},
	"eslint_warn_pass":          {"warning: 'spare' is assigned a value but never used  no-unused-vars", "js/src/spare.js", 1, 5},
	"node_throw":                {"TypeError: no number", "js/src/run.js", 2, 9},
	"node_pass":                 {Message: "went on"},
	"jest_fail":                 {"expect(received).toBe(expected), expected: 6, received: 5", "src/price.test.js", 9, 25},
	"jest_pass":                 {Message: `Ran all test suites matching /src/i with tests matching "discount".`},
}

// TestTranscripts: in each output of testdata the finding is what the program
// failed for.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) != len(transcripts) {
		t.Fatalf("%d files for %d transcripts, %v", len(files), len(transcripts), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := New().Find(string(output), "/ws", ""); got != transcripts[name] {
				t.Errorf("got  %+v\nwant %+v", got, transcripts[name])
			}
		})
	}
}

// TestPassedBeforeFailed: what passed before another program failed is not blamed
// for that.
func TestPassedBeforeFailed(t *testing.T) {
	t.Parallel()
	passed, err := filepath.Glob("testdata/*_pass.txt")
	if err != nil || len(passed) == 0 {
		t.Fatal(passed, err)
	}
	failed, err := filepath.Glob("testdata/*_fail.txt")
	if err != nil || len(failed) == 0 {
		t.Fatal(failed, err)
	}
	for _, before := range passed {
		first, err := os.ReadFile(before)
		if err != nil {
			t.Fatal(err)
		}
		for _, after := range failed {
			name := strings.TrimSuffix(filepath.Base(after), ".txt")
			if name == "eslint_max_warnings_fail" {
				continue // warnings are why it fails, and the first one stands for them
			}
			second, err := os.ReadFile(after)
			if err != nil {
				t.Fatal(err)
			}
			if got := New().Find(string(first)+string(second), "/ws", ""); got != transcripts[name] {
				t.Errorf("%s after %s: got  %+v\nwant %+v", name, filepath.Base(before), got, transcripts[name])
			}
		}
	}
}

// TestFind: outputs that testdata has no transcript of, and what only looks like a
// place.
func TestFind(t *testing.T) {
	t.Parallel()
	workspace := filepath.FromSlash("/ws")
	tests := []struct {
		name, dir, output string
		want              Finding
	}{
		{"go compiler", "", "# cashier/service\nservice/player.go:45:7: undefined: PlayerID\n", Finding{"undefined: PlayerID", "service/player.go", 45, 7}},
		{"go compiler in a directory", "api", "./main.go:3:1: syntax error: unexpected }\n", Finding{"syntax error: unexpected }", "api/main.go", 3, 1}},
		{"go vet", "", "# x\nvet: ./x.go:9:2: undefined: y\n", Finding{"undefined: y", "x.go", 9, 2}},
		{"go test", "", "--- FAIL: TestBuyIn (0.00s)\n    buyin_test.go:31: got 3, want 4\nFAIL\n", Finding{"got 3, want 4", "buyin_test.go", 31, 0}},
		{"go panic", "", "panic: index out of range [3]\n\ngoroutine 1 [running]:\nmain.main()\n\t/ws/cmd/main.go:12 +0x1d\nexit status 2\n", Finding{"panic: index out of range [3]", "cmd/main.go", 12, 0}},
		{"gcc", "", "main.c: In function 'main':\nmain.c:7:5: warning: unused variable 'i'\nmain.c:9:3: error: 'x' undeclared\n", Finding{"'x' undeclared", "main.c", 9, 3}},
		{"gcc, only a warning", "", "main.c:7:5: warning: unused variable 'i'\n", Finding{"warning: unused variable 'i'", "main.c", 7, 5}},
		{"gcc, only a note", "", "main.c:7:5: note: declared here\n", Finding{"note: declared here", "main.c", 7, 5}},
		{"tsc", "", "services/player/index.ts(45,12): error TS2339: Property 'player_id' does not exist on type 'PlayerDTO'.\n", Finding{"TS2339: Property 'player_id' does not exist on type 'PlayerDTO'.", "services/player/index.ts", 45, 12}},
		{"tsc pretty", "", "\x1b[96msrc/a.ts\x1b[0m:\x1b[93m4\x1b[0m:\x1b[93m2\x1b[0m - \x1b[91merror\x1b[0m TS1005: ';' expected.\n", Finding{"TS1005: ';' expected.", "src/a.ts", 4, 2}},
		{"eslint", "", "\n/ws/src/hooks/index.js\n   3:1  warning  Unexpected console statement  no-console\n  12:5  error    'x' is not defined            no-undef\n\n✖ 2 problems\n", Finding{"'x' is not defined            no-undef", "src/hooks/index.js", 12, 5}},
		{"pytest", "", "    def test_total():\n>       assert total() == 3\nE       assert 2 == 3\n\ntests/test_total.py:14: AssertionError\n=== 1 failed ===\n", Finding{"assert 2 == 3", "tests/test_total.py", 14, 0}},
		{"python", "", "Traceback (most recent call last):\n  File \"/ws/app.py\", line 3, in <module>\n    f()\n  File \"/ws/lib.py\", line 8, in f\n    raise ValueError(\"no\")\nValueError: no\n", Finding{"ValueError: no", "lib.py", 8, 0}},
		{"nothing with a place", "", "starting\nno such table: visits\n\n", Finding{Message: "no such table: visits"}},
		{"a time is no place", "", "at 12:30:15 it broke\n", Finding{Message: "at 12:30:15 it broke"}},
		{"a url is no place", "", "listening on http://127.0.0.1:8080/x\n", Finding{Message: "listening on http://127.0.0.1:8080/x"}},
		{"pytest, short", "", "tests/test_total.py:14: in test_total\n    assert total() == 3\nE   assert 2 == 3\n", Finding{"assert 2 == 3", "tests/test_total.py", 14, 0}},
		{"go test, testify", "", "--- FAIL: TestX (0.00s)\n    x_test.go:9: \n        \tError Trace:\t/ws/x_test.go:9\n        \tError:      \tNot equal\nFAIL\n", Finding{"Not equal", "x_test.go", 9, 0}},
		{"go test -v, parallel", "", "=== CONT  TestA\n=== CONT  TestB\n    x_test.go:3: b\n=== NAME  TestA\n    x_test.go:1: a\n--- PASS: TestB (0.00s)\n--- FAIL: TestA (0.00s)\nFAIL\n", Finding{"a", "x_test.go", 1, 0}},
		{"go test -v, the test prints a place", "", "=== RUN   TestA\nx.go:3:1: printed\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n    x_test.go:1: b\n--- FAIL: TestB (0.00s)\nFAIL\n", Finding{"b", "x_test.go", 1, 0}},
		{"go test -v, with directories", "", "=== RUN   TestA\npkg/x_test.go:1: b\n--- FAIL: TestA (0.00s)\nFAIL\n", Finding{"b", "pkg/x_test.go", 1, 0}},
		{"go test, only the parent says why", "", "--- FAIL: TestA (0.00s)\n    x_test.go:1: begins\n    --- FAIL: TestA/a (0.00s)\n    x_test.go:3: why\nFAIL\nFAIL\tx\t0.0s\nFAIL\n", Finding{"why", "x_test.go", 3, 0}},
		{"go test, only the parent says why, below", "", "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/a (0.00s)\n    x_test.go:3: why\nFAIL\nFAIL\tx\t0.0s\nFAIL\n", Finding{"why", "x_test.go", 3, 0}},
		{"go panic of a program that tests ran before", "", "--- FAIL: TestA (0.00s)\n    x_test.go:1: a\nFAIL\nFAIL\tx\t0.0s\npanic: no\n\ngoroutine 1 [running]:\nmain.main()\n\t/ws/main.go:12 +0x1d\n", Finding{"a", "x_test.go", 1, 0}},
		{"unittest before a go panic", "", "FAIL: test_x\nTraceback (most recent call last):\n  File \"/ws/a.py\", line 3, in f\nAssertionError: a\npanic: no\n\ngoroutine 1 [running]:\nmain.main()\n\t/ws/main.go:12 +0x1d\n", Finding{"AssertionError: a", "a.py", 3, 0}},
		{"go test, a subtest of another package", "", "--- FAIL: TestA (0.00s)\n    x_test.go:1: a\nFAIL\nFAIL\tx\t0.0s\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n        y_test.go:1: b\nFAIL\nFAIL\ty\t0.0s\nFAIL\n", Finding{"a", "x_test.go", 1, 0}},
		{"go test -v, a panic in the package before one that passes", "", "=== RUN   TestA\n    x_test.go:1: a\n--- FAIL: TestA (0.00s)\npanic: no\n\ngoroutine 1 [running]:\nx.TestA()\n\t/ws/x_test.go:12 +0x1d\nFAIL\tx\t0.0s\n=== RUN   TestB\n--- PASS: TestB (0.00s)\nPASS\nok  \ty\t0.0s\nFAIL\n", Finding{"panic: no", "x_test.go", 12, 0}},
		{"a log with places", "", "main.go:9: starting\nmain.go:30: cannot open the database\n", Finding{"cannot open the database", "main.go", 30, 0}},
		{"a caught traceback before an error", "", "Traceback (most recent call last):\n  File \"/ws/a.py\", line 3, in f\n    f()\nValueError: no\nsrc/a.c:1:2: error: no\n", Finding{"no", "src/a.c", 1, 2}},
		{"node, a module is missing", "", "node:internal/modules/cjs/loader:1215\n  throw err;\n  ^\n\nError: Cannot find module './x'\nRequire stack:\n- /ws/run.js\n    at Module._load (node:internal/modules/cjs/loader:1043:27)\n    at Object.<anonymous> (/ws/run.js:2:9)\n", Finding{"Error: Cannot find module './x'", "run.js", 2, 9}},
		{"rust, older", "", "thread 'main' panicked at 'no price', src/main.rs:3:5\n", Finding{"no price", "src/main.rs", 3, 5}},
		{"empty", "", "", Finding{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := New().Find(tt.output, workspace, tt.dir); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
