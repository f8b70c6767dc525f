package findings

import "strings"

// pythonReader reads tracebacks, unittest's failures, which are tracebacks under a
// line of their own, and pytest's, whose message stands apart from the place.
type pythonReader struct {
	*run
	frame    Finding // of the traceback that is being read: the innermost of the workspace, or the innermost
	unittest bool    // the traceback is of a test that failed
	place    Finding // pytest's, of a short traceback
	message  string  // pytest's, whose place follows
}

func (p *pythonReader) next(line string) bool {
	if m := match(p.pyFrame, line); m != nil {
		if f := at(m); p.frame.Line == 0 || p.own(f.File) || !p.own(p.frame.File) {
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

// raised takes the line after a traceback, which is the exception.
func (p *pythonReader) raised(line string) bool {
	f, c := p.frame, trace
	f.Message = line
	if p.unittest {
		c = failed
	}
	p.add(c, f)
	p.frame, p.unittest = Finding{}, false
	return true
}

func (p *pythonReader) pytest(line string) bool {
	if msg, ok := strings.CutPrefix(line, "E  "); ok {
		switch {
		case p.message != "":
		case p.place.Line != 0:
			p.place.Message = strings.TrimSpace(msg)
			p.add(failed, p.place)
			p.place = Finding{}
		default:
			p.message = strings.TrimSpace(msg)
		}
		return true
	}
	m := match(p.pyPlace, line)
	switch {
	case m == nil:
		return false
	case strings.HasPrefix(m["msg"], "in "): // a short traceback: the message follows
		p.place = at(m)
	case p.message != "":
		f := at(m)
		f.Message, p.message = p.message, ""
		p.add(failed, f)
	default:
		return false
	}
	return true
}

func (p *pythonReader) end() {
	f := p.frame
	if f.Message = p.message; f.Message != "" {
		p.add(trace, f)
	}
}
