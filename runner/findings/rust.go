package findings

// rustReader reads the diagnostics of rustc and clippy, and the panics of programs
// and of cargo's tests. A panic of a test that passed was wanted.
type rustReader struct {
	*run
	head     map[string]string // of a diagnostic whose place follows
	panics   []rustPanic
	message  bool // the message of the last panic follows
	test     string
	verdicts map[string]bool // whether a test has failed
}

type rustPanic struct {
	thread string
	at     Finding
}

func (r *rustReader) next(line string) bool {
	if r.message {
		r.message = false
		r.panics[len(r.panics)-1].at.Message = line
		return true
	}
	if m := match(r.rustHead, line); m != nil {
		r.head = m
		return false
	}
	if m := match(r.rustPlace, line); m != nil && r.head != nil {
		f := at(m)
		f.Message = r.head["msg"]
		if code := r.head["code"]; code != "" {
			f.Message = code[1:len(code)-1] + ": " + f.Message
		}
		if sev := r.head["sev"]; sev == "warning" {
			r.warn(sev, f)
		} else {
			r.add(wrong, f)
		}
		r.head = nil
		return true
	}
	if m := match(r.rustPanic, line); m != nil {
		r.panics = append(r.panics, rustPanic{m["test"], at(m)})
		r.message = m["msg"] == ""
		return true
	}
	return r.judge(line)
}

// judge reads the verdict about a test. With --nocapture what the test prints
// stands between its name and the verdict.
func (r *rustReader) judge(line string) bool {
	verdict := line
	if m := match(r.rustTest, line); m != nil {
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

func (r *rustReader) end() {
	for _, p := range r.panics {
		switch fail, judged := r.verdicts[p.thread]; {
		case fail:
			r.add(failed, p.at)
		case !judged:
			r.add(trace, p.at)
		}
	}
}
