package why

import (
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// History collects from the commits of a journal the runs of workstreams and the judgements of gates.
// The zero value is ready to use, and a nil History is empty.
type History struct {
	steps     map[string]*steps
	makers    map[state.Text]string // of artifacts: the workstream that recorded it last
	rollbacks []rollback            // those that took the state back, the oldest first
	compacted bool                  // the journal begins with a state
}

// steps are the runs of one workstream or gate, the oldest first.
type steps struct {
	runs    []*run
	reason  state.Text    // why it is to run again
	ended   state.Text    // how it ended last
	ran     bool          // it ran before the journal begins
	retries bool          // the next start is a retry, not a run of its own
	failed  bool          // its last run failed
	digest  *state.Digest // of the last work that was recorded

	digestAt uint64   // the commit up to which it saw the results of others
	results  []result // what it handed to others, the oldest first
}

// run is one run of a workstream, with all its retries, or one judgement of a gate.
type run struct {
	at      time.Time
	endedAt time.Time
	seq     uint64
	attempt int
	gate    bool
	again   bool // it had run before
	reason  state.Text
	was     *state.Digest // of the work before it, or of the run before it if that failed; nil: there was none
	wasAt   uint64        // as steps.digestAt
	digest  *state.Digest // nil for a gate
	ended   state.Text
	skipped bool
	asked   bool // a gate that asked a person
}

// Visit adds a commit of the journal. The state that a compacted journal begins with stands for the
// commits before it.
func (h *History) Visit(c state.Commit) error {
	if h.steps == nil {
		h.steps, h.makers = map[string]*steps{}, map[state.Text]string{}
	}
	if c.State != nil {
		h.begin(c)
	}
	for _, e := range c.Events {
		h.event(c, e)
	}
	return nil
}

func (h *History) of(name string) *steps {
	if h.steps[name] == nil {
		h.steps[name] = &steps{}
	}
	return h.steps[name]
}

func (h *History) event(c state.Commit, e state.Event) {
	switch e := e.(type) {
	case state.SessionStarted:
		if e.From != nil {
			h.takeOver(e.From)
		}
	case state.RollbackCompleted:
		if e.State != nil { // nil: only files were restored
			h.goBack(c.Seq, e.State)
		}
	case state.WorkstreamInvalidated:
		h.of(e.Workstream).reason = e.Reason
	case state.WorkstreamResolved:
		h.of(e.Workstream).reason = state.Text("resolved as " + string(e.Resolution))
	case state.WorkstreamStarted:
		digest := e.Digest
		h.of(e.Workstream).begin(&run{at: c.Time, seq: c.Seq, attempt: e.Attempt, digest: &digest})
	case state.WorkstreamAttemptFailed:
		h.of(e.Workstream).retries = true
	case state.WorkstreamSucceeded:
		h.work(e.Workstream, c, &e.Work)
	case state.WorkstreamCompleted:
		h.work(e.Workstream, c, e.Work)
		h.of(e.Workstream).end(c.Time, "completed")
	case state.WorkstreamFailed:
		h.of(e.Workstream).end(c.Time, "failed: "+e.Error.Message)
		h.of(e.Workstream).failed = true
	case state.WorkstreamInterrupted:
		h.of(e.Workstream).end(c.Time, "was interrupted")
	case state.WorkstreamUncertain:
		h.of(e.Workstream).end(c.Time, "became uncertain: "+e.Error.Message)
	case state.WorkstreamSkipped:
		h.of(e.Workstream).skip(c, e.Reason, false)
	case state.GateVoided:
		h.of(e.Gate).reason = e.Reason
	case state.GateStarted:
		h.of(e.Gate).begin(&run{at: c.Time, seq: c.Seq, attempt: e.Attempt, gate: true})
	case state.GateAsked:
		h.of(e.Gate).begin(&run{at: c.Time, seq: c.Seq, gate: true, asked: true})
	case state.GatePassed:
		h.of(e.Gate).judge(c, e.DurationMS, "passed")
	case state.GateFailed:
		h.of(e.Gate).judge(c, e.DurationMS, "failed: "+e.Error.Message)
	case state.GateApproved:
		h.of(e.Gate).end(c.Time, answered("approved", e.By, e.Comment))
	case state.GateRejected:
		h.of(e.Gate).end(c.Time, answered("rejected", e.By, e.Reason))
	case state.GateSkipped:
		h.of(e.Gate).skip(c, e.Reason, true)
	}
}

func answered(how string, by state.Actor, comment state.Text) state.Text {
	text := state.Text(how)
	if by.User != "" {
		text += state.Text(" by " + by.User)
	}
	if comment != "" {
		text += ": " + comment
	}
	return text
}

// takeOver takes over the records with which a session begins.
func (h *History) takeOver(from *state.State) {
	for w := range from.Records() {
		if w.Done() {
			digest, s := w.Digest, h.of(w.Name)
			if s.digest, s.digestAt = &digest, 0; w.Session == "" && h.compacted {
				s.digestAt = w.WorkSeq
			}
			if s.results == nil { // results that are there already are kept: a rollback may return to one of them
				s.results = append(s.results, result{s.digestAt, w.Outputs, w.Artifacts})
			}
		}
		for _, a := range w.Artifacts {
			h.makers[a.Path] = w.Name
		}
	}
}

func (h *History) work(name string, c state.Commit, work *state.Work) {
	if work == nil {
		return
	}
	s, digest := h.of(name), work.Digest
	if work.Cached != nil {
		s.begin(&run{at: c.Time, seq: c.Seq, attempt: work.Attempt, digest: &digest})
	}
	s.digest, s.digestAt = &digest, c.Seq
	if n := len(s.runs); n > 0 {
		s.digestAt = s.runs[n-1].seq
	}
	s.results = append(s.results, result{c.Seq, work.Outputs, work.Artifacts})
	s.end(c.Time, "its work succeeded")
	for _, a := range work.Artifacts {
		h.makers[a.Path] = name
	}
}

func (s *steps) begin(r *run) {
	if s.retries && len(s.runs) > 0 {
		s.retries = false
		s.runs[len(s.runs)-1].attempt = r.attempt
		return
	}
	r.again, r.was, r.wasAt, r.reason = s.ran || len(s.runs) > 0 || s.digest != nil, s.digest, s.digestAt, s.reason
	if r.reason == "" && s.ended != "" && !r.gate && (r.was == nil || s.failed) {
		r.reason = "the run before it " + s.ended
	}
	if n := len(s.runs); s.failed && n > 0 {
		r.was, r.wasAt = s.runs[n-1].digest, s.runs[n-1].seq
	}
	s.reason, s.retries, s.failed, s.ended = "", false, false, ""
	s.runs = append(s.runs, r)
}

func (s *steps) end(at time.Time, how state.Text) {
	s.ended = how
	if n := len(s.runs); n > 0 {
		s.runs[n-1].ended, s.runs[n-1].endedAt = how, at
	}
}

// judge ends the judgement of a gate with its verdict. A gate that runs no process, such as one of a
// metric, does not record the start of a judgement: its verdict is all of it.
func (s *steps) judge(c state.Commit, tookMS int64, verdict state.Text) {
	if n := len(s.runs); n == 0 || s.runs[n-1].ended != "" {
		s.begin(&run{at: c.Time.Add(-time.Duration(tookMS) * time.Millisecond), seq: c.Seq, gate: true})
	}
	s.end(c.Time, verdict)
}

func (s *steps) skip(c state.Commit, why state.Text, gate bool) {
	if n := len(s.runs); n == 0 || !s.runs[n-1].skipped || s.runs[n-1].reason != why { // it is skipped again in each build
		s.runs = append(s.runs, &run{at: c.Time, seq: c.Seq, gate: gate, reason: why, skipped: true, ended: "skipped since"})
	}
	s.reason, s.ended = "", "was skipped"
}

func (r *run) does() string {
	switch {
	case r.skipped:
		return "was skipped"
	case r.asked && r.again:
		return "asked for approval again"
	case r.asked:
		return "asked for approval"
	case r.gate && r.again:
		return "was judged again"
	case r.gate:
		return "was judged"
	case r.again:
		return "ran again"
	}
	return "ran"
}

// changes returns the differences to the work before it.
func (r *run) changes() []plan.Change {
	if r.was == nil || r.digest == nil || r.was.Definition == "" {
		return nil
	}
	return plan.DigestChanges(*r.was, *r.digest)
}

// last returns the last run of a step that no rollback took back, or else its last run, which back
// tells.
func (h *History) last(name string) (r *run, back bool) {
	if r = h.before(name, latest); r != nil || h == nil || h.steps[name] == nil {
		return r, false
	}
	if all := h.steps[name].runs; len(all) > 0 {
		return all[len(all)-1], true
	}
	return nil, false
}

// before returns the last run of a step that counted at a commit.
func (h *History) before(name string, seq uint64) *run {
	if h == nil || h.steps[name] == nil {
		return nil
	}
	return h.standing(h.steps[name], seq)
}

// maker returns the workstream that recorded a file last, "" if none did.
func (h *History) maker(path state.Text) string {
	if h == nil {
		return ""
	}
	return h.makers[path]
}
