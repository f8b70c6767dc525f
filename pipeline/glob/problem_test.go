package glob

import (
	"strings"
	"testing"
)

func TestGluedStarsAdvice(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ glob, meant string }{
		{"src/**.py", "src/**/*.py"},
		{"**.py", "**/*.py"},
		{"src/foo**", "src/foo*/**"},
		{"a**/b/*.c", "a*/**/b/*.c"},
		{"**bar/x", "**/*bar/x"},
		{"a/b**c/d", "a/b*/**/*c/d"},
		{"a/***", "a/**"},
		{`a/\***`, `a/\**/**`},
		{"a/[*]**", "a/[*]*/**"},
		{"{a,b}/**.py", "{a,b}/**/*.py"},
		{"{x,src/**.py}", "{x,src/**/*.py}"},
		{"{**.py,x}", "**/*.py"},
	} {
		problem := Problem(test.glob)
		if !strings.Contains(problem, `write "`+test.meant+`",`) {
			t.Errorf("%s: %s; want %s", test.glob, problem, test.meant)
		}
		if problem := Problem(test.meant); problem != "" {
			t.Errorf("the advised glob %s is refused: %s", test.meant, problem)
		}
	}
}
