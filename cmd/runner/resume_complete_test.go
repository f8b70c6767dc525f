//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// likeMake is a pipeline of three workstreams. likeMakefile is the same graph for make.
const likeMake = `
phase "one" {
  workstream "lib" {
    inputs    = ["lib.c"]
    artifacts = ["lib.o"]
    script    = "echo lib >> ran; cp lib.c lib.o"
  }
  workstream "tool" {
    depends_on = [workstream.lib]
    inputs     = ["tool.c", "lib.o"]
    artifacts  = ["tool"]
    script     = "echo tool >> ran; cat tool.c lib.o > tool"
  }
  workstream "doc" {
    inputs    = ["doc.md"]
    artifacts = ["doc.html"]
    script    = "echo doc >> ran; cp doc.md doc.html"
  }
}`

const likeMakefile = `all: tool doc.html
lib.o: lib.c
	echo lib >> ran; cp lib.c lib.o
tool: tool.c lib.o
	echo tool >> ran; cat tool.c lib.o > tool
doc.html: doc.md
	echo doc >> ran; cp doc.md doc.html
`

// TestACompleteSessionIsGoneOnAfterLikeMake changes one input at a time after a complete
// session, and builds with --resume. Runner must run the same workstreams as make on the
// same graph, and produce the same files.
func TestACompleteSessionIsGoneOnAfterLikeMake(t *testing.T) {
	t.Parallel()
	d, beside := newDesk(t, likeMake), t.TempDir()
	write := func(name, text string) {
		d.write(name, text)
		if err := os.WriteFile(filepath.Join(beside, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("Makefile", likeMakefile)
	for _, name := range []string{"lib.c", "tool.c", "doc.md"} {
		write(name, "first\n")
	}
	made := func() []string {
		t.Helper()
		cmd := exec.Command("make", "-s")
		cmd.Dir = beside
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make: %v\n%s", err, out)
		}
		data, err := os.ReadFile(filepath.Join(beside, "ran"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(beside, "ran")); err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(data))
	}
	same := func() {
		t.Helper()
		want := made()
		slices.Sort(want)
		d.ran(want...)
		for _, name := range []string{"lib.o", "tool", "doc.html"} {
			text, err := os.ReadFile(filepath.Join(beside, name))
			if err != nil {
				t.Fatal(err)
			}
			d.holds(name, strings.TrimSpace(string(text)))
		}
	}
	d.runs(0, "build", "PRD-001", "--resume=auto")
	same()
	d.build(6)
	same()
	for i, changed := range []string{"lib.c", "tool.c", "doc.md", "lib.c"} {
		for k, name := range []string{"lib.c", "tool.c", "doc.md", "lib.o", "tool", "doc.html"} { // make compares modification times
			at := time.Now().Add(time.Duration(k-60) * time.Minute)
			if err := os.Chtimes(filepath.Join(beside, name), at, at); err != nil {
				t.Fatal(err)
			}
		}
		write(changed, strings.Repeat("changed\n", i+1))
		d.build(0)
		same()
		d.build(6)
		same()
	}
}
