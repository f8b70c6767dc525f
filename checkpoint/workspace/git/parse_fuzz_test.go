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

// TestParseModified reads lines of git status, and refuses what it does not print.
func TestParseModified(t *testing.T) {
	for _, tt := range []struct {
		record, prefix string
		want           Modified
	}{
		{"M  a", "", Modified{"a", FileModified, true}},
		{" M a", "", Modified{"a", FileModified, false}},
		{"MM a b", "", Modified{"a b", FileModified, true}},
		{" T a", "", Modified{"a", FileModified, false}},
		{"DA a", "", Modified{"a", FileModified, true}},
		{"A  sub/a", "sub/", Modified{"a", FileAdded, true}},
		{"AM a", "", Modified{"a", FileAdded, true}},
		{" A a", "", Modified{"a", FileAdded, false}},
		{"D  a", "", Modified{"a", FileDeleted, true}},
		{" D a", "", Modified{"a", FileDeleted, false}},
		{"AD a", "", Modified{"a", FileDeleted, true}},
		{"UU a", "", Modified{"a", FileConflicted, true}},
		{"AA a", "", Modified{"a", FileConflicted, true}},
		{"DD a", "", Modified{"a", FileConflicted, true}},
		{"?? a\nb\xff", "", Modified{"a\nb\xff", FileUntracked, false}},
		{"??  ", "", Modified{" ", FileUntracked, false}},
		{"?? sub/", "", Modified{"sub/", FileUntracked, false}},
	} {
		if got, err := parseModified(tt.record, tt.prefix); got != tt.want || err != nil {
			t.Errorf("%q: %+v, %v", tt.record, got, err)
		}
	}
	for _, record := range []string{"", "M", "M  ", "MM", "M a", "R  a", "C  a", "!! a", "## main", "   a", "?M a", "MU a", "mm a", "M\x00 a", "M\ta"} {
		if got, err := parseModified(record, ""); err == nil {
			t.Errorf("%q was read as %+v", record, got)
		}
	}
	if got, err := parseModified("M  other/a", "sub/"); err == nil {
		t.Errorf("a file beside the directory was read as %+v", got)
	}
}

// FuzzModified parses any line as a line of git status. The result is the path in the
// line, or an error that shows the line.
func FuzzModified(f *testing.F) {
	for _, line := range []string{"M  a b", " M a", "?? sub/", "?? a\nb\xff", "UU a", "AD a", "R  a", "M", "## main", "D  "} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got, err := parseModified(line, "")
		switch {
		case err != nil && !strings.Contains(err.Error(), fmt.Sprintf("%q", line)):
			t.Fatalf("the error does not show the line: %v", err)
		case err == nil && (line[3:] != got.Path || got.Path == "" || got.Status == "" || got.Staged && got.Status == FileUntracked):
			t.Fatalf("%q was read as %+v", line, got)
		}
	})
}
