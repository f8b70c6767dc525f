//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// try does the command with one fault, and then what the oracle asks for.
func (s *crashSite) try(fault string) {
	s.t.Helper()
	s.fault, s.hit = fault, ""
	s.reset()
	r := s.run(fault, s.op.args...)
	ops := s.logged()
	at := s.at()
	hit := at <= len(ops)
	switch {
	case hit:
		s.hit = ops[at-1]
		s.met++
	case *crashAt != "" || slices.Contains(s.op.always, fault):
		s.failf("there are only %d such operations", len(ops))
	}
	if hit && isKill(fault) != (r.code == -1) {
		s.failf("it exits %d\n%s%s", r.code, r.stdout, r.told)
	}
	switch {
	case !hit:
	case isSignal(fault):
		s.endedAsAsked(r)
	case r.code != -1:
		s.notRetried(ops, at)
		if r.code == s.op.code && !tellsFault(r) {
			s.notOnRecord()
		}
	}
	s.acknowledged(r)
	l := s.look("after it")
	s.oneBoundary(l)
	s.notHalf(r, l)
	if r.code == s.op.code && !tellsFault(r) {
		s.settled("by itself")
		return
	}
	if r.code == 0 {
		s.settled("by itself, though it tells of the fault")
		return
	}
	done := s.done()
	s.op.again(s)
	s.settled("done again")
	s.noneAgain(done)
}

// endedAsAsked checks how a command ended that a signal asked to end: with the
// signal's exit code and one line that says so and what to type next, unless all
// was done by then. After SIGQUIT it does nothing more.
func (s *crashSite) endedAsAsked(r ran) {
	s.t.Helper()
	name, _, _ := strings.Cut(s.fault, "@")
	if r.code == s.op.code && name != "SIGQUIT" {
		return
	}
	s.ended++
	if want := endedCode(&endedError{signal: name}); r.code != want {
		s.failf("it exits %d, want %d\n%s%s", r.code, want, r.stdout, r.told)
	}
	again := "`runner " + strings.Join(s.op.args[:2], " ")
	if collecting := "`runner checkpoint prune PRD-001`"; s.op.record != "" && s.records() != s.recorded && (name != "SIGQUIT" || strings.Contains(r.told, collecting)) {
		again = collecting // all that was asked for is done
	}
	if strings.Count(r.told, "Interrupted by "+name) != 1 || !strings.Contains(r.told, again) || strings.Contains(r.told, "goroutine ") || strings.Contains(r.told, "Error") {
		s.failf("it says\n%s", r.told)
	}
}

// records counts what the command is to put on record.
func (s *crashSite) records() (n int) {
	s.t.Helper()
	for _, c := range s.journal() {
		for _, e := range c.Events {
			if e.Kind == s.op.record {
				n++
			}
		}
	}
	return n
}

// at is the number of the operation that fails first.
func (s *crashSite) at() (n int) {
	_, at, _ := strings.Cut(s.fault, "@")
	at, _, _ = strings.Cut(at, ":") // only operations of these kinds are counted then
	if _, err := fmt.Sscan(strings.TrimSuffix(at, "+"), &n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

func tellsFault(r ran) bool {
	for _, fault := range []string{"input/output error", "no space left", "quota exceeded"} {
		if strings.Contains(r.stdout+r.told, fault) {
			return true
		}
	}
	return false
}

// notOnRecord checks that what failed, and was not told of, is nothing that
// cannot be made again: neither journal nor object.
func (s *crashSite) notOnRecord() {
	s.t.Helper()
	kind, name, _ := strings.Cut(s.hit, " ")
	if kind != "remove" && (strings.Contains(name, "journal.jsonl") || strings.Contains(name, "/objects/")) {
		s.failf("nothing tells of the fault")
	}
}

// notRetried checks that nothing is written to or synced where that has failed,
// unless the file was opened anew.
func (s *crashSite) notRetried(ops []string, at int) {
	s.t.Helper()
	kind, name, _ := strings.Cut(ops[at-1], " ")
	if kind != "write" && kind != "sync" || strings.Contains(name, "/.git/") {
		return // what git wrote is synced through a descriptor of its own each time
	}
	for i, op := range ops[at:] {
		switch op {
		case "create " + name:
			return
		case "write " + name, "sync " + name:
			s.failf("%q had failed, and operation %d is %q", ops[at-1], at+1+i, op)
		}
	}
}

// acknowledged checks that what was shown is on record. Where the journal could
// not be synced, what it was given last is not: that may not have been shown.
func (s *crashSite) acknowledged(r ran) {
	s.t.Helper()
	if !s.op.runs {
		if r.stdout != "" && r.code == -1 && s.op.shown != nil {
			s.op.shown(s, r.stdout)
		}
		return
	}
	recorded, last := map[string]bool{}, uint64(0)
	for _, c := range s.journal() {
		last = c.Seq
		for _, e := range c.Events {
			recorded[fmt.Sprint(c.Seq, " ", e.Kind, " ", e.Workstream, e.Gate, e.Phase)] = true
		}
	}
	unsynced := r.code != -1 && strings.HasPrefix(s.hit, "sync ") && strings.HasSuffix(s.hit, "/journal.jsonl")
	for line := range strings.Lines(r.stdout) {
		var e struct {
			Seq        uint64 `json:"seq"`
			Kind       string `json:"kind"`
			Workstream string `json:"workstream"`
			Gate       string `json:"gate"`
			Phase      string `json:"phase"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq == 0 {
			continue
		}
		if key := fmt.Sprint(e.Seq, " ", e.Kind, " ", e.Workstream, e.Gate, e.Phase); !recorded[key] {
			s.failf("%q was shown, and is not on record", key)
		}
		if unsynced && e.Seq == last {
			s.failf("what was shown of %d could not be synced: %s", last, line)
		}
	}
}

func (s *crashSite) journal() (commits []journalLine) {
	s.t.Helper()
	data, _ := os.ReadFile(s.path("w/.runner/" + s.prd() + "/journal.jsonl")) // there may be no session
	for line := range bytes.Lines(data) {
		var c journalLine
		if json.Unmarshal(line, &c) != nil {
			break // torn
		}
		commits = append(commits, c)
	}
	return commits
}

// oneBoundary checks what is shown between a fault and its repair: where a
// command makes one step, what was before it or what is after it. Between two
// steps there may be no session, and no plan until a rollback or an import is
// finished.
func (s *crashSite) oneBoundary(l looked) {
	s.t.Helper()
	for i, code := range l.codes {
		if code != s.before.codes[i] && code != s.after.codes[i] && (!s.op.runs || code != 0) && (!s.op.steps || code != 2 && (i != 2 || code != 5)) {
			s.failf("reader %d exits %d, and %d before and %d after", i, code, s.before.codes[i], s.after.codes[i])
		}
	}
	if !s.op.runs && !s.op.steps && l.view != s.before.view && l.view != s.after.view {
		s.failf("what is shown is neither what was before nor what is after:\n%s\nbefore:\n%s\nafter:\n%s", l.view, s.before.view, s.after.view)
	}
}

// notHalf checks that a rollback that failed, and is not to be finished by
// another command, has left the files as they were, or as they are to be.
func (s *crashSite) notHalf(r ran, l looked) {
	s.t.Helper()
	if !s.op.undoes || r.code <= 0 || l.codes[2] != s.before.codes[2] {
		return
	}
	files := readTree(s.t, s.path("w"))
	if back := files.diff(s.treeBefore); back != "" && files.diff(s.tree) != "" {
		s.failf("it exits %d, and its files are of neither moment: %s\n%s", r.code, back, r.told)
	}
}

// settled checks that everything is as it is without a fault.
func (s *crashSite) settled(when string) {
	s.t.Helper()
	l, files := s.glance(when), readTree(s.t, s.path("w"))
	if !s.gaveUp(l, files) {
		l.codes[2] = s.after.codes[2]
		if l.codes != s.after.codes || l.view != s.after.view {
			s.failf("%s, readers exit %v and show\n%s\nwant %v and\n%s", when, l.codes, l.view, s.after.codes, s.after.view)
		}
		if diff := files.diff(s.tree); diff != "" {
			s.failf("%s: %s", when, diff)
		}
	}
	if l.codes[0] == 0 && s.closely {
		s.exits([]int{s.op.validity}, "checkpoint", "validate", s.prd(), "--deep")
	}
	s.tidy(when, l)
	if s.op.settled != nil {
		s.op.settled(s)
	}
}

// gaveUp reports whether what could not be finished was taken back, which is
// said where it was begun: then everything is as it was before that.
func (s *crashSite) gaveUp(l looked, files tree) bool {
	return !isKill(s.fault) && s.origin != nil && l.view == s.origin.view && files.diff(s.origin.tree) == ""
}

// tidy checks that what was cut short leaves nothing behind it: what is one
// session's goes with the next command that takes it, and what is shared by all
// goes with the next collection.
func (s *crashSite) tidy(when string, l looked) {
	s.t.Helper()
	for _, args := range [][]string{{"checkpoint", "unpin", s.prd(), "latest"}, {"checkpoint", "prune", s.prd(), "--yes"}} {
		left := s.leftovers()
		if len(left) == 0 {
			return
		}
		if l.codes[0] == 0 {
			s.exits([]int{0}, args...)
		}
	}
	if left := s.leftovers(); len(left) > 0 {
		s.failf("%s, this is left over: %v", when, left)
	}
}

func (s *crashSite) leftovers() (left []string) {
	s.t.Helper()
	for _, top := range []string{"w", "home", "tmp"} { // in tmp is what the journal could not take
		s.must(filepath.WalkDir(s.path(top), func(path string, _ fs.DirEntry, err error) error {
			name := filepath.Base(path)
			if top != "w" && path != s.path(top) || strings.HasPrefix(name, ".tmp-") || strings.Contains(path, ".git/") && strings.HasSuffix(name, ".lock") {
				left = append(left, path)
			}
			return err
		}))
	}
	return left
}

// done counts how often each workstream ran that is on record as done.
func (s *crashSite) done() map[string]int {
	counts, done := s.counts(), map[string]int{}
	for _, c := range s.journal() {
		for _, e := range c.Events {
			if e.Kind == "workstream.completed" || e.Kind == "workstream.succeeded" {
				done[e.Workstream] = counts[e.Workstream]
			}
		}
	}
	return done
}

// noneAgain checks that what was done has not run again, that what must happen
// once did not twice, and that what is done ran.
func (s *crashSite) noneAgain(done map[string]int) {
	s.t.Helper()
	counts := s.counts()
	for name, count := range done {
		if counts[name] != count {
			s.failf("%s was done, and ran again", name)
		}
	}
	if counts["once"] > 1 {
		s.failf("once ran %d times", counts["once"])
	}
	for name := range s.done() {
		if counts[name] == 0 && name != "" {
			s.failf("%s is on record as done, and never ran", name)
		}
	}
}

func (s *crashSite) counts() map[string]int {
	counts := map[string]int{}
	data, _ := os.ReadFile(s.path("ran")) // there is none before the first
	for _, name := range strings.Fields(string(data)) {
		counts[name]++
	}
	return counts
}

func keysOf(m map[string]string) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}
