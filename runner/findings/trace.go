package findings

import "strings"

// traceReader reads errors whose place is in the stack under the message: those
// that ended Node or Java, and failures of Jest.
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

func (t *traceReader) next(line string) bool {
	if m := match(t.javaHead, line); m != nil {
		*t = traceReader{run: t.run, kind: javaTrace, message: m["msg"]}
		return true
	}
	if m := match(t.nodeHead, line); m != nil {
		*t = traceReader{run: t.run, kind: nodeTrace, head: at(m)}
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
		return t.node(line)
	case jestTrace:
		return t.jest(line)
	case javaTrace:
		return t.java(line)
	case noTrace:
	}
	return false
}

// node takes the first frame of the workspace, which is where Node names an
// internal module above the message, too.
func (t *traceReader) node(line string) bool {
	if m := match(t.nodeError, line); m != nil && t.message == "" {
		t.message = m["msg"]
		return true
	}
	return t.message != "" && t.atFrame(line)
}

// jest takes what stands under the name of the test: what was expected, and where.
func (t *traceReader) jest(line string) bool {
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
	m := match(t.jsFrame, line)
	if m == nil || !t.own(at(m).File) {
		return m != nil
	}
	f := at(m)
	f.Message = t.message
	t.settle(failed, f)
	return true
}

func (t *traceReader) java(line string) bool {
	m := match(t.javaFrame, line)
	if m == nil || m["module"] != "" {
		return m != nil
	}
	f := at(m)
	f.Message = t.message
	t.settle(failed, f)
	return true
}

func (t *traceReader) settle(c certainty, f Finding) {
	t.add(c, f)
	*t = traceReader{run: t.run}
}

// end is for an error that ended Node and has no frame of the workspace.
func (t *traceReader) end() {
	if t.kind == nodeTrace && t.message != "" {
		f := t.head
		f.Message = t.message
		t.add(failed, f)
	}
}
