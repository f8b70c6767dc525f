package main

import (
	"strings"
	"testing"
)

// TestHintOfAnUntakenResult: abandon can't take back what has come back of a result. It does not
// name itself as the way out, and the command that it names is one.
func TestHintOfAnUntakenResult(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds; left out with -short")
	}
	s := newCrashSite(t, buildBinary(t, "failpoint"), crashOperation{})
	s.begin()
	s.write("PRD-001.hcl", strings.Replace(crashIsolated, "FROM", `"copy"`, 1))
	for _, name := range []string{"changed", "deleted", "same"} {
		s.write("out/"+name, name+"\n")
	}
	s.cut("kill@4:change/out", crashBuild...) // one file of the result is in the workspace
	r := s.run("EIO@1+:change", "abandon", "PRD-001", "--yes")
	if r.code == 0 || strings.Contains(r.told, "`runner abandon") || !strings.Contains(r.told, "`runner build PRD-001 --resume` put the result into the workspace instead") {
		t.Errorf("abandon exits %d:\n%s%s", r.code, r.stdout, r.told)
	}
	s.write("go", "")
	s.exits([]int{0}, "build", "PRD-001", "--resume")
}
