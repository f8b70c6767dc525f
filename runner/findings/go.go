package findings

import "strings"

// goReader reads the output of go test, with -v or without, and Go's panics. What
// a test printed counts once the test has failed: with -v the verdict comes after
// it, without -v before it.
type goReader struct {
	*run
	test    string             // whose output the lines are, "" outside of tests
	printed map[string]Finding // the last place that each test has printed and that has no verdict
	open    bool               // the last place came without a message, which follows
	failed  bool               // the test has failed already
	panic   *goPanic
}

// goPanic is a panic whose stack is being read.
type goPanic struct {
	message    string
	own, first Finding // the first frame of the workspace, and outside of the runtime
}

func (g *goReader) next(line string) bool {
	if m := match(g.running, line); m != nil {
		g.test, g.failed, g.open = m["test"], false, false
		return true
	}
	if m := match(g.verdict, line); m != nil {
		g.judge(m["test"], m["verdict"] == "FAIL")
		return true
	}
	if g.panics(line) {
		return true
	}
	if g.test == "" {
		return false
	}
	if line == "FAIL" || line == "PASS" || strings.HasPrefix(line, "FAIL\t") || strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "# ") {
		g.flush()
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

// judge settles what a test has printed before its verdict, and says whose the
// following lines are.
func (g *goReader) judge(test string, fail bool) {
	g.flush()
	if f, ok := g.printed[test]; ok && fail {
		g.add(failed, f)
	}
	delete(g.printed, test)
	if !fail {
		g.panic = nil // a test that passed has printed it
	}
	g.test, g.failed, g.open = test, fail, false
}

// flush settles what a test has printed after its verdict.
func (g *goReader) flush() {
	if f, ok := g.printed[g.test]; ok && g.failed {
		g.add(failed, f)
		delete(g.printed, g.test)
	}
}

// panics reads "panic:" and the frames that follow it.
func (g *goReader) panics(line string) bool {
	if msg, ok := strings.CutPrefix(line, "panic: "); ok && g.panic == nil {
		g.panic = &goPanic{message: "panic: " + strings.TrimSuffix(strings.TrimSuffix(msg, " [recovered, repanicked]"), " [recovered]")}
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

func (g *goReader) end() {
	g.flush()
	if g.panic == nil {
		return
	}
	f := g.panic.own
	if f.Line == 0 {
		f = g.panic.first
	}
	if f.Line == 0 {
		f.Message = g.panic.message
	}
	g.add(failed, f)
}
