package findings

import "strings"

// traceReader reads errors whose place is in the stack below the message: those that ended
// Node or Java, and failures of Jest.
type traceReader struct {
	*run
	kind    traceKind
	message string
	head    Finding // Node: the place above the message
}

type traceKind int

const (
	noTrace traceKind = iota
	nodeTrace
	jestTrace
	javaTrace
)

func (t *traceReader) readLine(line string) bool {
	if m := matchNamed(t.javaHead, line); m != nil {
		*t = traceReader{run: t.run, kind: javaTrace, message: m["msg"]}
		return true
	}
	if m := matchNamed(t.nodeHead, line); m != nil {
		*t = traceReader{run: t.run, kind: nodeTrace, head: findingAt(m)}
		return true
	}
	if name, ok := strings.CutPrefix(line, "  ● "); ok {
		*t = traceReader{run: t.run, kind: noTrace}
		if name != "Console" {
			t.kind = jestTrace
		}
		return true
	}
	switch t.kind {
	case nodeTrace:
		return t.readNode(line)
	case jestTrace:
		return t.readJest(line)
	case javaTrace:
		return t.readJava(line)
	case noTrace:
	}
	return false
}

// readNode takes the first frame in the workspace: the place above the message may be an
// internal module of Node.
func (t *traceReader) readNode(line string) bool {
	if m := matchNamed(t.nodeError, line); m != nil && t.message == "" {
		t.message = m["msg"]
		return true
	}
	return t.message != "" && t.atFrame(line)
}

// readJest reads the block below the name of a test: the expectation and the place.
func (t *traceReader) readJest(line string) bool {
	text := strings.TrimSpace(line)
	switch {
	case text == "":
		return false
	case t.message == "":
		t.message, _, _ = strings.Cut(text, " // ")
		return true
	case strings.HasPrefix(text, "Expected: "), strings.HasPrefix(text, "Received: "):
		t.message += ", " + strings.ToLower(text[:1]) + text[1:]
		return true
	}
	return t.atFrame(line)
}

func (t *traceReader) atFrame(line string) bool {
	m := matchNamed(t.jsFrame, line)
	if m == nil || !t.isOwnFile(findingAt(m).File) {
		return m != nil
	}
	f := findingAt(m)
	f.Message = t.message
	t.addTrace(failed, f)
	return true
}

func (t *traceReader) readJava(line string) bool {
	m := matchNamed(t.javaFrame, line)
	if m == nil || m["module"] != "" {
		return m != nil
	}
	f := findingAt(m)
	f.Message = t.message
	t.addTrace(failed, f)
	return true
}

func (t *traceReader) addTrace(c certainty, f Finding) {
	t.addFinding(c, f)
	*t = traceReader{run: t.run}
}

// finish handles an error that ended Node without a frame in the workspace.
func (t *traceReader) finish() {
	if t.kind == nodeTrace && t.message != "" {
		f := t.head
		f.Message = t.message
		t.addFinding(failed, f)
	}
}
