package findings

import "testing"

// TestCases holds small outputs that no transcript contains.
func TestCases(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, output string
		want         Finding
	}{
		{
			"testify writes the message below the place",
			"--- FAIL: TestX (0.00s)\n    x_test.go:5: \n        \tError Trace:\t/ws/x_test.go:5\n        \tError:      \tNot equal\n        \tTest:       \tTestX\nFAIL\n",
			Finding{"Not equal", "x_test.go", 5, 0},
		},
		{
			"a line after a complete message is not part of it",
			"--- FAIL: TestX (0.00s)\n    x_test.go:5: wrong total\n        and more\nFAIL\n",
			Finding{"wrong total", "x_test.go", 5, 0},
		},
		{
			"an error without a place is not a warning's",
			"a.c:1:2: warning: unused\nerror: linking failed\n",
			Finding{Message: "error: linking failed"},
		},
		{
			"a panic without a frame in the workspace is at its first frame outside of the runtime",
			"panic: no\n\ngoroutine 1 [running]:\n\t/usr/go/src/runtime/x.go:1 +0x1\n\t/usr/lib/x.go:3 +0x1\n\t/usr/lib/y.go:4 +0x1\n",
			Finding{"panic: no", "/usr/lib/x.go", 3, 0},
		},
		{
			"after the verdict of a package no line belongs to a test",
			"--- FAIL: TestX (0.00s)\n    x_test.go:5: a\nFAIL\n    x_test.go:9: b\n",
			Finding{"a", "x_test.go", 5, 0},
		},
		{
			"the first of several errors without a severity counts if it has a column",
			"a.go:1:2: first\nb.go:3:4: second\n",
			Finding{"first", "a.go", 1, 2},
		},
		{
			"the first of several errors without a column counts if it has a severity",
			"A.java:1: error: first\nB.java:3: error: second\n",
			Finding{"first", "A.java", 1, 0},
		},
		{
			"the first error of Node counts",
			"/ws/x.js:7\nthrow e\n\nTypeError: first\nRangeError: second\n    at f (/ws/y.js:1:2)\n",
			Finding{"TypeError: first", "y.js", 1, 2},
		},
		{
			"an error of Node without a frame in the workspace",
			"/ws/x.js:7\nthrow e\n\nTypeError: first\n    at f (node:internal/main:1:2)\n",
			Finding{"TypeError: first", "x.js", 7, 0},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := New().Find(tt.output, "/ws", ""); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestRelative(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, dir, want string }{
		{"", "", ""},
		{"/ws/a/b.go", "", "a/b.go"},
		{"/ws/a/b.go", "c", "a/b.go"},
		{"/usr/lib/x.go", "", "/usr/lib/x.go"},
		{"b.go", "a", "a/b.go"},
		{"../b.go", "a", "b.go"},
		{"../../b.go", "a", "../../b.go"},
	} {
		if got := Relative(tt.file, "/ws", tt.dir); got != tt.want {
			t.Errorf("%s in %q: %s, want %s", tt.file, tt.dir, got, tt.want)
		}
	}
}
