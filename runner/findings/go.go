package findings

import "strings"

// goReader reads the output of go test, with -v or without, and Go's panics. What
// a test printed counts once the test has failed: with -v the verdict comes after
// it, without -v before it. What a subtest that failed printed counts more than
// what its parent, which failed for it, did.
type goReader struct {
	*run
	test    string             // whose output the lines are, "" outside of tests
	judged  []string           // the test that was judged last, after those that it is part of
	blamed  string             // the test whose output is the finding, "" where no part of it may be that instead
	printed map[string]Finding // the last place that each test has printed and that has no verdict
	open    bool               // the last place came without a message, which follows
	failed  bool               // the test has failed already
	panic   *goPanic
}

// goPanic is a panic whose stack is being read.
type goPanic struct {
	test       string // in which it was, "" outside of tests
	message    string
	own, first Finding // the first frame of the workspace, and outside of the runtime
}

func (g *goReader) next(line string) bool {
	if m := match(g.running, line); m != nil {
		g.test, g.failed, g.open = m["test"], false, false
		return true
	}
	if m := match(g.verdict, line); m != nil {
		g.judge(depth(m), m["test"], m["verdict"] == "FAIL")
		return true
	}
	if g.panics(line) {
		return true
	}
	if g.test == "" {
		return false
	}
	if line == "FAIL" || line == "PASS" || strings.HasPrefix(line, "FAIL\t") || strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "# ") {
		g.settle()
		g.test = ""
		return false
	}
	g.print(line)
	return true
}

// print takes a line that a test has printed. The last place of a test counts: what
// it logs comes before what ends it.
func (g *goReader) print(line string) {
	if m := match(g.testLine, line); m != nil {
		g.turn(depth(m))
		f := at(m)
		g.remember(f)
		g.open = f.Message == ""
		return
	}
	f, text := g.printed[g.test], strings.TrimSpace(line)
	if !g.open || text == "" || strings.HasPrefix(text, "Error Trace:") {
		return
	}
	f.Message = strings.TrimSpace(strings.TrimPrefix(text, "Error:"))
	g.remember(f)
	g.open = f.Message == ""
}

func (g *goReader) remember(f Finding) {
	if g.printed == nil {
		g.printed = make(map[string]Finding)
	}
	g.printed[g.test] = f
}

// depth is of how many tests a line is part of that is indented like this.
func depth(m map[string]string) int { return len(m["indent"]) / 4 }

// turn gives a line to one of the tests that the last one judged is part of: without
// -v what a test prints after its subtests follows theirs, less indented.
func (g *goReader) turn(depth int) {
	if n := max(depth, 1); g.failed && n < len(g.judged) {
		g.flush()
		g.judged = g.judged[:n]
		g.test = g.judged[n-1]
	}
}

// judge settles what a test has printed before its verdict, and says whose the
// following lines are.
func (g *goReader) judge(depth int, test string, fail bool) {
	g.flush()
	if !partOf(test, g.blamed) {
		g.blamed = ""
	}
	if f, ok := g.printed[test]; ok && fail {
		g.blame(test, f)
	}
	delete(g.printed, test)
	if !fail {
		g.panic = nil // a test that passed has printed it
	}
	g.judged = append(g.judged[:min(depth, len(g.judged))], test)
	g.test, g.failed, g.open = test, fail, false
}

// flush settles what a test has printed after its verdict.
func (g *goReader) flush() {
	if f, ok := g.printed[g.test]; ok && g.failed {
		g.blame(g.test, f)
		delete(g.printed, g.test)
	}
}

// blame takes what a test that failed has printed, in place of what it, or the test
// that it is part of, has printed before.
func (g *goReader) blame(test string, f Finding) {
	switch {
	case f.Message == "":
	case g.found[failed] == nil:
		g.add(failed, f)
		g.blamed = test
	case g.blamed != "" && test == g.blamed, partOf(test, g.blamed):
		g.found[failed] = &f
		g.blamed = test
	}
}

// partOf reports whether a test is a subtest of another one, of whatever depth.
func partOf(test, of string) bool { return of != "" && strings.HasPrefix(test, of+"/") }

// panics reads "panic:" and the frames that follow it.
func (g *goReader) panics(line string) bool {
	if msg, ok := strings.CutPrefix(line, "panic: "); ok && g.panic == nil {
		g.panic = &goPanic{test: g.test, message: "panic: " + strings.TrimSuffix(strings.TrimSuffix(msg, " [recovered, repanicked]"), " [recovered]")}
		return true
	}
	if g.panic == nil {
		return false
	}
	m := match(g.goFrame, line)
	if m == nil || strings.Contains(m["file"], "/runtime/") || strings.Contains(m["file"], "/testing/") {
		return false
	}
	f := at(m)
	f.Message = g.panic.message
	if g.panic.first.Line == 0 {
		g.panic.first = f
	}
	if g.panic.own.Line == 0 && g.own(f.File) {
		g.panic.own = f
	}
	return true
}

// settle takes what the tests of a package have printed. What a test logged before
// it panicked is not why it failed.
func (g *goReader) settle() {
	g.flush()
	p := g.panic
	if p == nil {
		return
	}
	g.panic = nil
	f := p.own
	if f.Line == 0 {
		f = p.first
	}
	if f.Line == 0 {
		f.Message = p.message
	}
	g.blame(p.test, f)
}

func (g *goReader) end() { g.settle() }
