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

// readFaults returns commands that read a session; the last two also change it.
func readFaults() [][]string {
	return [][]string{
		{"status", "PRD-001"}, {"plan", "PRD-001", "--resume"}, {"logs", "PRD-001", "make"},
		{"checkpoint", "list", "PRD-001"}, {"checkpoint", "show", "PRD-001", "latest"}, {"checkpoint", "diff", "PRD-001", "latest~1"},
		{"checkpoint", "validate", "PRD-001", "--deep"}, {"checkpoint", "export", "PRD-001", "-o", "../out/it.tar"},
		{"checkpoint", "rollback", "PRD-001", "latest", "--yes"}, {"build", "PRD-001", "--resume=auto"},
	}
}

// TestReadFaults runs commands that read a session, and makes the reads of one of its
// files fail: the first, the last, or all. The command must report the error, name the
// file and say what to do next, unless a second read succeeds. No command may start a new
// session, and the next build must not run completed workstreams again.
func TestReadFaults(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the test takes seconds; left out with -short")
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
			target := "" // the checkpoint file that a rollback reads
			if args[0] == "checkpoint" && args[1] == "rollback" {
				target = s.latest() + ".json"
			}
			met := false
			for _, name := range files {
				last := strconv.Itoa(strings.Count(strings.Join(ops, "\n")+"\n", "/"+name+"\n"))
				for _, how := range []string{"1", last, "1+"} {
					if changes := args[0] == "build" || args[1] == "rollback"; changes && strings.HasPrefix(name, "CP-") && name != target {
						continue // the command only checks whether a newer version of Runner wrote this file
					}
					s.reset()
					met = s.misread(args, how, name) || met
				}
			}
			if !met {
				t.Error("no read failed: the test proves nothing")
			}
		})
	}
}

// keptFiles returns the names of the files that ops read and that tell or hold what
// Runner has on record: the journal, the manifest, the document, checkpoints and objects.
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

// misread runs a command in which reads of one file fail: with how "1+" all, with a
// number only that one. It reports whether a read failed. Which files a build reads
// depends on when they were last changed.
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
		s.failf("the command exits %d and does not report the error of the disk\n%s", r.code, said)
	case tellsFault(r) && !strings.Contains(said, name):
		s.failf("the error message does not name the file\n%s", said)
	case r.code != s.before.codes[0] && !strings.Contains(said, "hint: ") && !strings.Contains(said, "runner checkpoint re") && !strings.Contains(said, "runner build "):
		s.failf("the command exits %d and does not say what to do next\n%s", r.code, said)
	}
	if got := s.session(); got != session {
		s.failf("the command starts the session %s in place of %s", got, session)
	}
	s.noneAgain(done)
	s.exits([]int{0, 3}, crashBuild...)
	s.noneAgain(done)
	if got := s.session(); got != session {
		s.failf("the next build starts the session %s in place of %s", got, session)
	}
	return met
}

// latest returns the id of the newest checkpoint.
func (s *crashSite) latest() string {
	s.t.Helper()
	target, err := os.Readlink(s.path("kept/.runner/PRD-001/latest"))
	s.must(err)
	return strings.TrimSuffix(filepath.Base(target), ".json")
}

// session returns the id of the session in the journal.
func (s *crashSite) session() string {
	s.t.Helper()
	_, rest, _ := strings.Cut(string(read(s.t, s.path("w/.runner/PRD-001/journal.jsonl"))), `"session":"`)
	id, _, found := strings.Cut(rest, `"`)
	if !found {
		s.failf("the journal names no session")
	}
	return id
}
