package findings

import "strings"

// pythonReader reads tracebacks, unittest's failures (a traceback below a header), and
// pytest's, whose message is separate from the place.
type pythonReader struct {
	*run
	frame    Finding // of the current traceback: the innermost in the workspace, or the innermost
	unittest bool    // the traceback belongs to a failed test
	place    Finding // from a short traceback of pytest
	message  string  // from pytest, before its place
}

func (p *pythonReader) readLine(line string) bool {
	if m := matchNamed(p.pyFrame, line); m != nil {
		if f := findingAt(m); p.frame.Line == 0 || p.isOwnFile(f.File) || !p.isOwnFile(p.frame.File) {
			p.frame = f
		}
		return true
	}
	if strings.HasPrefix(line, "FAIL: ") || strings.HasPrefix(line, "ERROR: ") {
		p.unittest = true
		return false
	}
	if p.frame.Line != 0 && line != "" && line[0] != ' ' {
		return p.raised(line)
	}
	return p.pytest(line)
}

// raised reads the line after a traceback, which is the exception.
func (p *pythonReader) raised(line string) bool {
	f, c := p.frame, trace
	f.Message = line
	if p.unittest {
		c = failed
	}
	p.addFinding(c, f)
	p.frame, p.unittest = Finding{}, false
	return true
}

func (p *pythonReader) pytest(line string) bool {
	if msg, ok := strings.CutPrefix(line, "E  "); ok {
		switch {
		case p.message != "":
		case p.place.Line != 0:
			p.place.Message = strings.TrimSpace(msg)
			p.addFinding(failed, p.place)
			p.place = Finding{}
		default:
			p.message = strings.TrimSpace(msg)
		}
		return true
	}
	m := matchNamed(p.pyPlace, line)
	switch {
	case m == nil:
		return false
	case strings.HasPrefix(m["msg"], "in "): // a short traceback: the message follows
		p.place = findingAt(m)
	case p.message != "":
		f := findingAt(m)
		f.Message, p.message = p.message, ""
		p.addFinding(failed, f)
	default:
		return false
	}
	return true
}

func (p *pythonReader) finish() {
	f := p.frame
	if f.Message = p.message; f.Message != "" {
		p.addFinding(trace, f)
	}
}
