package git

import (
	"fmt"
	"strings"
	"testing"
)

// FuzzGitFile parses any line as a line of git's list of files. The result is a path in
// the line, or an error that shows the line.
func FuzzGitFile(f *testing.F) {
	for _, line := range []string{"? a b", "? sub/", "H 100644 e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 0\ta\tb\xff", "S 120000 abc 2\tlink", "H 160000 abc 0\tsub", "H", "H 9 a 0\tx", "? "} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got, stage, err := parseFile(line)
		if err != nil {
			if !strings.Contains(err.Error(), fmt.Sprintf("%q", line)) {
				t.Fatalf("the error does not show the line: %v", err)
			}
			return
		}
		again := "? " + got.Path
		switch {
		case got.Tracked:
			tag, _, _ := strings.Cut(line, " ")
			_, rest, _ := strings.Cut(line, " ")
			mode, _, _ := strings.Cut(rest, " ")
			again = fmt.Sprintf("%s %s %s %s\t%s", tag, mode, got.Blob, stage, got.Path)
		case got.Gitlink:
			again += "/"
		}
		if again != line {
			t.Fatalf("%q was read as %q", line, again)
		}
	})
}
