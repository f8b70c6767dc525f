package findings

// rustReader reads the diagnostics of rustc and clippy, and the panics of programs and of
// cargo's tests. It ignores a panic in a test that passed, because the test expected it.
type rustReader struct {
	*run
	head     map[string]string // a diagnostic whose place follows
	panics   []rustPanic
	message  bool // the message of the last panic follows
	test     string
	verdicts map[string]bool // true for tests that failed
}

type rustPanic struct {
	thread string
	at     Finding
}

func (r *rustReader) readLine(line string) bool {
	if r.message {
		r.message = false
		r.panics[len(r.panics)-1].at.Message = line
		return true
	}
	if m := matchNamed(r.rustHead, line); m != nil {
		r.head = m
		return false
	}
	if m := matchNamed(r.rustPlace, line); m != nil && r.head != nil {
		f := findingAt(m)
		f.Message = r.head["msg"]
		if code := r.head["code"]; code != "" {
			f.Message = code[1:len(code)-1] + ": " + f.Message
		}
		if sev := r.head["sev"]; sev == "warning" {
			r.addWarning(sev, f)
		} else {
			r.addFinding(wrong, f)
		}
		r.head = nil
		return true
	}
	if m := matchNamed(r.rustPanic, line); m != nil {
		r.panics = append(r.panics, rustPanic{m["test"], findingAt(m)})
		r.message = m["msg"] == ""
		return true
	}
	return r.readVerdict(line)
}

// readVerdict reads the verdict of a test. With --nocapture the output of the test is
// between its name and the verdict.
func (r *rustReader) readVerdict(line string) bool {
	verdict := line
	if m := matchNamed(r.rustTest, line); m != nil {
		r.test, verdict = m["test"], m["verdict"]
	}
	if r.test == "" || verdict != "ok" && verdict != "FAILED" {
		return false
	}
	if r.verdicts == nil {
		r.verdicts = make(map[string]bool)
	}
	r.verdicts[r.test] = verdict == "FAILED"
	r.test = ""
	return true
}

func (r *rustReader) finish() {
	for _, p := range r.panics {
		switch fail, judged := r.verdicts[p.thread]; {
		case fail:
			r.addFinding(failed, p.at)
		case !judged:
			r.addFinding(trace, p.at)
		}
	}
}
