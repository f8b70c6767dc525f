//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// readFaults are commands that read, and those after which the session goes on.
func readFaults() [][]string {
	return [][]string{
		{"status", "PRD-001"}, {"plan", "PRD-001", "--resume"}, {"logs", "PRD-001", "make"},
		{"checkpoint", "list", "PRD-001"}, {"checkpoint", "show", "PRD-001", "latest"}, {"checkpoint", "diff", "PRD-001", "latest~1"},
		{"checkpoint", "validate", "PRD-001", "--deep"}, {"checkpoint", "export", "PRD-001", "-o", "../out/it.tar"},
		{"checkpoint", "rollback", "PRD-001", "latest", "--yes"}, {"build", "PRD-001", "--resume=auto"},
	}
}

// TestReadFaults has commands that read a session come to a file of it that can't
// be read: for ever, or when they first or last read it. They say so, naming the file and what to do next; only
// what is read again may be silent about once. None begins afresh, and afterwards
// the session goes on without running anything again that was done.
func TestReadFaults(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds; left out with -short")
	}
	binary := buildBinary(t, "failpoint")
	for i, args := range readFaults() {
		if !inSample(i, 4) {
			continue
		}
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			s := newCrashSite(t, binary, crashOperation{name: "read faults", args: args, prepare: (*crashSite).failed})
			s.op.prepare(s)
			s.command("cp", "-a", s.path("w"), s.path("kept"))
			s.command("cp", "-a", s.path("out"), s.path("kept-out"))
			s.command("cp", "-a", s.path("ran"), s.path("kept-ran"))
			s.before.codes[0] = s.run("EIO@1000000:open,read", args...).code
			ops := s.logged()
			files := keptFiles(ops)
			target := "" // of a rollback
			if args[0] == "checkpoint" && args[1] == "rollback" {
				target = s.latest() + ".json"
			}
			met := false
			for _, name := range files {
				last := strconv.Itoa(strings.Count(strings.Join(ops, "\n")+"\n", "/"+name+"\n"))
				for _, how := range []string{"1", last, "1+"} {
					if changes := args[0] == "build" || args[1] == "rollback"; changes && strings.HasPrefix(name, "CP-") && name != target {
						continue // it asks of it only whether a newer version wrote it
					}
					s.reset()
					met = s.misread(args, how, name) || met
				}
			}
			if !met {
				t.Error("no read failed, and that proves nothing")
			}
		})
	}
}

// keptFiles are the names of the files among what was read that hold what was
// acknowledged, or tell what was.
func keptFiles(ops []string) (names []string) {
	for _, op := range ops {
		_, path, _ := strings.Cut(op, " ")
		name := filepath.Base(path)
		if name == "journal.jsonl" || name == "manifest.json" || name == "PRD-001.json" || strings.HasPrefix(name, "CP-") || len(name) > 60 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// misread has the reading of a file fail in a command, once or for ever. It reports whether
// that was met: whether a build compares some files with what is kept depends on when they
// were changed.
func (s *crashSite) misread(args []string, how, name string) (met bool) {
	s.t.Helper()
	session, done := s.session(), s.done()
	s.fault = fmt.Sprintf("EIO@%s:open,read/%s", how, name)
	r := s.run(s.fault, args...)
	s.endedByItself("with a read that fails", r)
	said := r.stdout + r.told
	met = len(s.logged()) > 0
	switch {
	case met && !tellsFault(r) && (strings.HasSuffix(how, "+") || r.code != s.before.codes[0] || r.stdout == ""):
		s.failf("it exits %d, and nobody is told of the disk\n%s", r.code, said)
	case tellsFault(r) && !strings.Contains(said, name):
		s.failf("it does not name the file\n%s", said)
	case r.code != s.before.codes[0] && !strings.Contains(said, "hint: ") && !strings.Contains(said, "runner checkpoint re") && !strings.Contains(said, "runner build "):
		s.failf("it exits %d, and nobody is told what to do next\n%s", r.code, said)
	}
	if got := s.session(); got != session {
		s.failf("it begins the session %s in place of %s", got, session)
	}
	s.noneAgain(done)
	s.exits([]int{0, 3}, crashBuild...)
	s.noneAgain(done)
	if got := s.session(); got != session {
		s.failf("after it begins the session %s in place of %s", got, session)
	}
	return met
}

// latest is the id of the newest checkpoint.
func (s *crashSite) latest() string {
	s.t.Helper()
	target, err := os.Readlink(s.path("kept/.runner/PRD-001/latest"))
	s.must(err)
	return strings.TrimSuffix(filepath.Base(target), ".json")
}

// session is the id of the session that the journal is of.
func (s *crashSite) session() string {
	s.t.Helper()
	_, rest, _ := strings.Cut(string(read(s.t, s.path("w/.runner/PRD-001/journal.jsonl"))), `"session":"`)
	id, _, found := strings.Cut(rest, `"`)
	if !found {
		s.failf("there is no session")
	}
	return id
}
