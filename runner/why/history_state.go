package why

import (
	"cmp"
	"time"

	"prdrunner/checkpoint/state"
)

// noReason is why a run ran whose beginning is in no commit.
const noReason = "the journal was compacted since, and no longer says why"

// begin takes over the state that a compacted journal begins with. Of each step the state has only
// the last run, without the time of its beginning in the journal.
func (h *History) begin(c state.Commit) {
	h.compacted = true
	h.takeOver(c.State)
	for w := range c.State.Records() {
		s := h.of(w.Name)
		if w.Status == state.Pending {
			s.reason = w.Reason
			if w.Digest.Definition != "" { // of the work that was invalidated
				digest := w.Digest
				s.digest, s.digestAt = &digest, w.WorkSeq
			}
		}
		if w.Session == "" {
			s.adopt(c, workstreamRun(w), w.Attempts > 0)
		}
	}
	for g := range c.State.Gates() {
		s := h.of(g.Label)
		if g.Status == state.Pending {
			s.reason = g.Reason
		}
		if g.Session == "" {
			s.adopt(c, gateRun(g), g.Attempts > 0)
		}
	}
}

// adopt adds a run of before the beginning of the journal, unless there was none.
func (s *steps) adopt(c state.Commit, r *run, ran bool) {
	if !ran && r.ended == "" {
		return
	}
	if r.seq == 0 {
		r.seq = c.Seq
	}
	s.ran, s.ended = ran, r.ended
	s.runs = append(s.runs, r)
}

func workstreamRun(w *state.Workstream) *run {
	r := &run{at: timeOf(w.StartedAt), endedAt: timeOf(w.EndedAt), seq: cmp.Or(w.WorkSeq, w.EndedSeq), attempt: w.Attempts, reason: noReason, ended: endOf(w)}
	if w.Status == state.Skipped {
		r.at, r.attempt, r.reason, r.skipped, r.ended = timeOf(w.EndedAt), 0, w.Reason, true, "skipped since"
	}
	return r
}

func gateRun(g *state.Gate) *run {
	r := &run{endedAt: timeOf(g.At), attempt: g.Attempts, gate: true, asked: g.Status == state.Waiting, reason: noReason, ended: verdictOf(g)}
	switch {
	case g.Status == state.Skipped:
		r.at, r.reason, r.skipped = timeOf(g.At), g.Reason, true
	case r.ended == "": // a question without an answer
		r.at, r.endedAt = r.endedAt, time.Time{}
	case g.By == nil && g.At != nil:
		r.at = g.At.Add(-time.Duration(g.DurationMS) * time.Millisecond)
	}
	return r
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// endOf says how a workstream ended, by its record.
func endOf(w *state.Workstream) state.Text {
	message := state.Text("")
	if w.Error != nil {
		message = w.Error.Message
	}
	switch w.Status {
	case state.Completed:
		return "completed"
	case state.Succeeded:
		return "its work succeeded"
	case state.Failed:
		return "failed: " + message
	case state.Interrupted:
		return "was interrupted"
	case state.Uncertain:
		return "became uncertain: " + message
	case state.Skipped:
		return "was skipped"
	case state.Pending, state.Running, state.Passed, state.Rejected, state.Waiting: // it has not ended, or is none of a workstream
	}
	return ""
}

// verdictOf says how a gate was judged or answered, by its record.
func verdictOf(g *state.Gate) state.Text {
	switch {
	case g.Status == state.Passed && g.By != nil:
		return answered("approved", *g.By, g.Comment)
	case g.Status == state.Passed:
		return "passed"
	case g.Status == state.Rejected && g.By != nil:
		return answered("rejected", *g.By, g.Comment)
	case g.Status == state.Failed && g.Error != nil:
		return "failed: " + g.Error.Message
	case g.Status == state.Skipped:
		return "skipped since"
	}
	return ""
}
