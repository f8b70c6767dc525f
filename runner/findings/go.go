package findings

import "strings"

// goReader reads the output of go test, with or without -v, and Go's panics. The output of
// a test counts once the test has failed: with -v the verdict follows the output, without
// -v it precedes it. The output of a failed subtest counts more than that of its parent,
// which failed because of it.
type goReader struct {
	*run
	test    string             // the test that prints the lines; "" outside of tests
	judged  []string           // the test with the last verdict, after its parents
	blamed  string             // the test whose output is the finding; "" if no subtest may replace it
	printed map[string]Finding // the last place that each test without a verdict printed
	open    bool               // the message of the last place follows
	failed  bool               // the test has failed
	panic   *goPanic
}

// goPanic is a panic whose stack is being read.
type goPanic struct {
	test       string // the test that panicked; "" outside of tests
	message    string
	own, first Finding // the first frame in the workspace, and the first outside of the runtime
}

func (g *goReader) readLine(line string) bool {
	if m := matchNamed(g.running, line); m != nil {
		g.test, g.failed, g.open = m["test"], false, false
		return true
	}
	if m := matchNamed(g.verdict, line); m != nil {
		g.readVerdict(testDepth(m), m["test"], m["verdict"] == "FAIL")
		return true
	}
	if g.panics(line) {
		return true
	}
	if g.test == "" {
		return false
	}
	if line == "FAIL" || line == "PASS" || strings.HasPrefix(line, "FAIL\t") || strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "# ") {
		g.finishPackage()
		g.test = ""
		return false
	}
	g.readPrinted(line)
	return true
}

// readPrinted reads a line that a test printed. The last place of a test counts, because it
// logs before it fails.
func (g *goReader) readPrinted(line string) {
	if m := matchNamed(g.testLine, line); m != nil {
		g.switchTest(testDepth(m))
		f := findingAt(m)
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

// testDepth returns the number of parent tests, by the indentation of a line.
func testDepth(m map[string]string) int { return len(m["indent"]) / 4 }

// switchTest finds the test that printed a line, among the last judged test and its
// parents: without -v, a test's output after its subtests follows theirs, with less
// indentation.
func (g *goReader) switchTest(depth int) {
	if n := max(depth, 1); g.failed && n < len(g.judged) {
		g.flushPrinted()
		g.judged = g.judged[:n]
		g.test = g.judged[n-1]
	}
}

// readVerdict processes the output of a test before its verdict, and sets the test for the
// following lines.
func (g *goReader) readVerdict(depth int, test string, fail bool) {
	g.flushPrinted()
	if !partOf(test, g.blamed) {
		g.blamed = ""
	}
	if f, ok := g.printed[test]; ok && fail {
		g.blameTest(test, f)
	}
	delete(g.printed, test)
	if !fail {
		g.panic = nil // the test passed, and printed a panic
	}
	g.judged = append(g.judged[:min(depth, len(g.judged))], test)
	g.test, g.failed, g.open = test, fail, false
}

// flushPrinted processes the output of a test after its verdict.
func (g *goReader) flushPrinted() {
	if f, ok := g.printed[g.test]; ok && g.failed {
		g.blameTest(g.test, f)
		delete(g.printed, g.test)
	}
}

// blameTest makes the output of a failed test the finding, replacing that of the same test
// or its parents.
func (g *goReader) blameTest(test string, f Finding) {
	switch {
	case f.Message == "":
	case g.found[failed] == nil:
		g.addFinding(failed, f)
		g.blamed = test
	case g.blamed != "" && test == g.blamed, partOf(test, g.blamed):
		g.found[failed] = &f
		g.blamed = test
	}
}

// partOf reports whether a test is a subtest of another, at any depth.
func partOf(test, of string) bool { return of != "" && strings.HasPrefix(test, of+"/") }

// panics reads "panic:" and the frames that follow.
func (g *goReader) panics(line string) bool {
	if msg, ok := strings.CutPrefix(line, "panic: "); ok && g.panic == nil {
		g.panic = &goPanic{test: g.test, message: "panic: " + strings.TrimSuffix(strings.TrimSuffix(msg, " [recovered, repanicked]"), " [recovered]")}
		return true
	}
	if g.panic == nil {
		return false
	}
	m := matchNamed(g.goFrame, line)
	if m == nil || strings.Contains(m["file"], "/runtime/") || strings.Contains(m["file"], "/testing/") {
		return false
	}
	f := findingAt(m)
	f.Message = g.panic.message
	if g.panic.first.Line == 0 {
		g.panic.first = f
	}
	if g.panic.own.Line == 0 && g.isOwnFile(f.File) {
		g.panic.own = f
	}
	return true
}

// finishPackage processes the output of a package's tests. If a test panicked, the lines
// that it logged before are not the cause.
func (g *goReader) finishPackage() {
	g.flushPrinted()
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
	g.blameTest(p.test, f)
}

func (g *goReader) finish() { g.finishPackage() }
