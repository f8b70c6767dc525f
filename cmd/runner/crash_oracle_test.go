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

	"prdrunner/pipeline"
)

// try runs the command with one fault, checks the state after it, has the work finished
// and checks the result.
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
		s.failf("the fault was not met: the command has only %d such operations", len(ops))
	}
	if hit && isKill(fault) != (r.code == -1) {
		s.failf("the command exits %d\n%s%s", r.code, r.stdout, r.told)
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
	l := s.look("after the command")
	s.oneBoundary(l)
	s.notHalf(r, l)
	if r.code == s.op.code && !tellsFault(r) {
		s.checkOutcome("after the command")
		return
	}
	if r.code == 0 {
		s.checkOutcome("after the command, which reports the fault and exits 0")
		return
	}
	done := s.done()
	s.op.again(s)
	s.checkOutcome("after the work was finished")
	s.noneAgain(done)
}

// endedAsAsked checks a command that a signal asked to end. Unless the command was done
// by then, it must exit with the code of the signal and print one line that names the
// signal and the command to type next. After SIGQUIT it must always end that way.
func (s *crashSite) endedAsAsked(r ran) {
	s.t.Helper()
	name, _, _ := strings.Cut(s.fault, "@")
	if r.code == s.op.code && name != "SIGQUIT" {
		return
	}
	s.ended++
	if want := endedCode(&endedError{signal: name}); r.code != want {
		s.failf("the command exits %d, want %d\n%s%s", r.code, want, r.stdout, r.told)
	}
	again := "`runner " + strings.Join(s.op.args[:2], " ")
	if collecting := "`runner checkpoint prune PRD-001`"; s.op.record != "" && s.records() != s.recorded && (name != "SIGQUIT" || strings.Contains(r.told, collecting)) {
		again = collecting // the request is done; only the collection of objects may be left
	}
	if strings.Count(r.told, "Interrupted by "+name) != 1 || !strings.Contains(r.told, again) || strings.Contains(r.told, "goroutine ") || strings.Contains(r.told, "Error") {
		s.failf("the command does not say once that it was interrupted and what to type next:\n%s", r.told)
	}
}

// records returns how many events of the kind s.op.record are in the journal.
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

// at returns the number of the first operation that the fault hits.
func (s *crashSite) at() (n int) {
	_, at, _ := strings.Cut(s.fault, "@")
	at, _, _ = strings.Cut(at, ":") // after the colon: the kinds of operations that are counted
	if _, err := fmt.Sscan(strings.TrimSuffix(at, "+"), &n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// tellsFault reports whether the output of a command names the error of a fault.
func tellsFault(r ran) bool {
	for _, fault := range []string{"input/output error", "no space left", "quota exceeded"} {
		if strings.Contains(r.stdout+r.told, fault) {
			return true
		}
	}
	return false
}

// notOnRecord checks a command that did not report the fault. The failed operation must
// be a removal, or concern files that can be made again: neither the journal nor an
// object.
func (s *crashSite) notOnRecord() {
	s.t.Helper()
	kind, name, _ := strings.Cut(s.hit, " ")
	if kind != "remove" && (strings.Contains(name, "journal.jsonl") || strings.Contains(name, "/objects/")) {
		s.failf("the command does not report the fault")
	}
}

// notRetried checks that after a failed write or sync the command does not write to or
// sync the same file, unless it has opened that file anew.
func (s *crashSite) notRetried(ops []string, at int) {
	s.t.Helper()
	kind, name, _ := strings.Cut(ops[at-1], " ")
	if kind != "write" && kind != "sync" || strings.Contains(name, "/.git/") {
		return // each sync of a file that git wrote opens the file anew
	}
	for i, op := range ops[at:] {
		switch op {
		case "create " + name:
			return
		case "write " + name, "sync " + name:
			s.failf("%q failed, and the later operation %d is %q", ops[at-1], at+1+i, op)
		}
	}
}

// acknowledged checks that every event that a build printed is on record. If a sync of
// the journal failed, its last commit may be lost, so the build must not have printed
// that commit. For a killed command that is no build, s.op.shown checks the output.
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
			s.failf("%q was printed and is not on record", key)
		}
		if unsynced && e.Seq == last {
			s.failf("commit %d could not be synced, but this was printed of it: %s", last, line)
		}
	}
}

func (s *crashSite) journal() (commits []journalLine) {
	s.t.Helper()
	data, _ := os.ReadFile(s.path("w/.runner/" + s.prd() + "/journal.jsonl")) // there may be no session
	for line := range bytes.Lines(data) {
		var c journalLine
		if json.Unmarshal(line, &c) != nil {
			break // the last line is torn
		}
		commits = append(commits, c)
	}
	return commits
}

// oneBoundary checks what readers show between a fault and its repair. For a command of
// one step, that must be the state before or the state after the command. Between the
// steps of other commands there may be no session, and no plan of an unfinished rollback
// or import.
func (s *crashSite) oneBoundary(l looked) {
	s.t.Helper()
	for i, code := range l.codes {
		if code != s.before.codes[i] && code != s.after.codes[i] && (!s.op.runs || code != 0) && (!s.op.steps || code != 2 && (i != 2 || code != 5)) {
			s.failf("reader %d exits %d; before the command %d, after the command %d", i, code, s.before.codes[i], s.after.codes[i])
		}
	}
	if !s.op.runs && !s.op.steps && l.view != s.before.view && l.view != s.after.view {
		s.failf("readers show neither the state before nor the state after the command:\n%s\nbefore:\n%s\nafter:\n%s", l.view, s.before.view, s.after.view)
	}
}

// notHalf checks a rollback that failed and that no later command will finish: all files
// must be as before the rollback, or all as after it.
func (s *crashSite) notHalf(r ran, l looked) {
	s.t.Helper()
	if !s.op.undoes || r.code <= 0 || l.codes[2] != s.before.codes[2] {
		return
	}
	files := readTree(s.t, s.path("w"))
	if back := files.diff(s.treeBefore); back != "" && files.diff(s.tree) != "" {
		s.failf("the command exits %d, and the files are neither all old nor all new: %s\n%s", r.code, back, r.told)
	}
}

// checkOutcome checks that the session and the workspace are as after the command without a
// fault.
func (s *crashSite) checkOutcome(when string) {
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
	if s.op.checkAlso != nil {
		s.op.checkAlso(s)
	}
}

// gaveUp reports whether Runner undid an unfinished rollback that it could not finish:
// session and files are then as before that rollback.
func (s *crashSite) gaveUp(l looked, files tree) bool {
	return !isKill(s.fault) && s.origin != nil && l.view == s.origin.view && files.diff(s.origin.tree) == ""
}

// tidy checks that no temporary files and git locks are left over. The next command that
// locks the session removes those of the session, and the next prune removes those that
// all sessions share.
func (s *crashSite) tidy(when string, l looked) {
	s.t.Helper()
	if l.codes[0] == 0 && len(s.leftovers()) > 0 {
		s.exits([]int{0}, "checkpoint", "unpin", s.prd(), "latest")
	}
	if len(s.leftovers()) > 0 {
		s.exits([]int{0}, "checkpoint", "prune", "--yes")
	}
	if left := s.leftovers(); len(left) > 0 {
		s.failf("%s, this is left over: %v", when, left)
	}
}

// leftovers returns the temporary files, also of restores, and git locks in the workspace, and
// all files in home/ and tmp/.
func (s *crashSite) leftovers() (left []string) {
	s.t.Helper()
	for _, top := range []string{"w", "home", "tmp"} { // tmp/ is where Runner writes rescue copies of the journal
		s.must(filepath.WalkDir(s.path(top), func(path string, _ fs.DirEntry, err error) error {
			name := filepath.Base(path)
			if top != "w" && path != s.path(top) || strings.HasPrefix(name, ".tmp-") || strings.HasPrefix(name, ".runner-restore-") || strings.Contains(path, ".git/") && strings.HasSuffix(name, ".lock") {
				left = append(left, path)
			}
			return err
		}))
	}
	return left
}

// done returns, for each workstream that is on record as done, or as failed where that is
// allowed, how often it ran. What was done in a work tree is done once its gates have passed.
func (s *crashSite) done() map[string]int {
	counts, done, held := s.counts(), map[string]int{}, map[string]map[string]bool{}
	for _, c := range s.journal() {
		for _, e := range c.Events {
			switch {
			case e.Held != nil && len(s.gatesOf(e.Workstream)) > 0:
				held[e.Workstream] = s.gatesOf(e.Workstream)
			case e.Kind == "workstream.completed" || e.Kind == "workstream.succeeded" || e.Allowed:
				done[e.Workstream] = counts[e.Workstream]
			case e.Kind == "gate.passed":
				_, of, _ := strings.Cut(strings.TrimSuffix(e.Gate, ")"), " (")
				if delete(held[of], e.Gate); held[of] != nil && len(held[of]) == 0 {
					done[of] = counts[of]
				}
			}
		}
	}
	return done
}

// gatesOf returns the labels of the gates that the pipeline gives a workstream.
func (s *crashSite) gatesOf(workstream string) map[string]bool {
	s.t.Helper()
	name := s.prd() + ".hcl"
	source, err := os.ReadFile(s.path("w/" + name))
	s.must(err)
	file, _ := pipeline.Parse(source, name)
	p, diags := file.Pipeline(pipeline.Inputs{Workspace: s.path("w")})
	if diags.HasErrors() {
		s.t.Fatal(diags)
	}
	labels := map[string]bool{}
	for _, gate := range p.Workstream(workstream).Gates {
		labels[gate.Label()] = true
	}
	return labels
}

// noneAgain checks that the workstreams in done have not run again, that the workstream
// once ran at most once, and that every workstream that is on record as done has run.
func (s *crashSite) noneAgain(done map[string]int) {
	s.t.Helper()
	counts := s.counts()
	for name, count := range done {
		if counts[name] != count && !s.rolledBack(name) && name != "undo" && name != "cleanup" { // these run again after what failed
			s.failf("%s was done and ran again", name)
		}
	}
	if counts["once"] > 1 {
		s.failf("once ran %d times", counts["once"])
	}
	for name := range s.done() {
		if counts[name] == 0 && name != "" {
			s.failf("%s is on record as done and never ran", name)
		}
	}
}

// rolledBack reports whether the work of a protected workstream was taken back.
func (s *crashSite) rolledBack(workstream string) bool {
	for _, c := range s.journal() {
		for _, e := range c.Events {
			if e.Kind == "protection.rolled_back" && e.Workstream == workstream {
				return true
			}
		}
	}
	return false
}

// counts returns how often each workstream ran.
func (s *crashSite) counts() map[string]int {
	counts := map[string]int{}
	data, _ := os.ReadFile(s.path("ran")) // the file does not exist before the first workstream runs
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
