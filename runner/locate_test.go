package runner

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestLocate(t *testing.T) {
	t.Parallel()
	workspace := filepath.FromSlash("/ws")
	tests := []struct {
		name, dir, output string
		want              finding
	}{
		{"go compiler", "", "# cashier/service\nservice/player.go:45:7: undefined: PlayerID\n", finding{"undefined: PlayerID", "service/player.go", 45, 7}},
		{"go compiler in a directory", "api", "./main.go:3:1: syntax error: unexpected }\n", finding{"syntax error: unexpected }", "api/main.go", 3, 1}},
		{"go vet", "", "# x\nvet: ./x.go:9:2: undefined: y\n", finding{"undefined: y", "x.go", 9, 2}},
		{"go test", "", "--- FAIL: TestBuyIn (0.00s)\n    buyin_test.go:31: got 3, want 4\nFAIL\n", finding{"got 3, want 4", "buyin_test.go", 31, 0}},
		{"go panic", "", "panic: index out of range [3]\n\ngoroutine 1 [running]:\nmain.main()\n\t/ws/cmd/main.go:12 +0x1d\nexit status 2\n", finding{"panic: index out of range [3]", "cmd/main.go", 12, 0}},
		{"gcc", "", "main.c: In function 'main':\nmain.c:7:5: warning: unused variable 'i'\nmain.c:9:3: error: 'x' undeclared\n", finding{"'x' undeclared", "main.c", 9, 3}},
		{"gcc, only a warning", "", "main.c:7:5: warning: unused variable 'i'\n", finding{"unused variable 'i'", "main.c", 7, 5}},
		{"tsc", "", "services/player/index.ts(45,12): error TS2339: Property 'player_id' does not exist on type 'PlayerDTO'.\n", finding{"TS2339: Property 'player_id' does not exist on type 'PlayerDTO'.", "services/player/index.ts", 45, 12}},
		{"tsc pretty", "", "\x1b[96msrc/a.ts\x1b[0m:\x1b[93m4\x1b[0m:\x1b[93m2\x1b[0m - \x1b[91merror\x1b[0m TS1005: ';' expected.\n", finding{"TS1005: ';' expected.", "src/a.ts", 4, 2}},
		{"eslint", "", "\n/ws/src/hooks/index.js\n   3:1  warning  Unexpected console statement  no-console\n  12:5  error    'x' is not defined            no-undef\n\n✖ 2 problems\n", finding{"'x' is not defined            no-undef", "src/hooks/index.js", 12, 5}},
		{"pytest", "", "    def test_total():\n>       assert total() == 3\nE       assert 2 == 3\n\ntests/test_total.py:14: AssertionError\n=== 1 failed ===\n", finding{"assert 2 == 3", "tests/test_total.py", 14, 0}},
		{"python", "", "Traceback (most recent call last):\n  File \"/ws/app.py\", line 3, in <module>\n    f()\n  File \"/ws/lib.py\", line 8, in f\n    raise ValueError(\"no\")\nValueError: no\n", finding{"ValueError: no", "lib.py", 8, 0}},
		{"nothing with a place", "", "starting\nno such table: visits\n\n", finding{message: "no such table: visits"}},
		{"a time is no place", "", "at 12:30:15 it broke\n", finding{message: "at 12:30:15 it broke"}},
		{"a url is no place", "", "listening on http://127.0.0.1:8080/x\n", finding{message: "listening on http://127.0.0.1:8080/x"}},
		{"empty", "", "", finding{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := newShapes().locate(tt.output, workspace, tt.dir); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestShortened: a message is as long as a person reads, and ends with a whole
// character.
func TestShortened(t *testing.T) {
	t.Parallel()
	fits := strings.Repeat("é", maxMessage/2)
	for in, want := range map[string]string{
		"":                        "",
		fits:                      fits,
		fits + "x":                fits[:maxMessage-4] + "…",
		"x" + fits:                "x" + fits[:maxMessage-4] + "…",
		fits[:1998] + "\xff\xffx": fits[:1996] + "…",
	} {
		if got := shortened(in); got != want || len(got) > maxMessage {
			t.Errorf("%d bytes became %d, ending with %q", len(in), len(got), got[max(0, len(got)-8):])
		}
	}
}
