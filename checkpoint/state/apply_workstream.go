package state

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// applyWorkstream folds the events of workstreams.
func (s *State) applyWorkstream(seq uint64, at time.Time, e Event) error {
	name, ok := WorkstreamOf(e)
	if !ok {
		return fmt.Errorf("%w: unknown kind %q", ErrFold, e.Kind())
	}
	w := s.Workstream(name)
	if u, ok := e.(WorkstreamUncertain); ok && w == nil && u.Attempt > 0 { // of an import
		w = s.Remember(&Workstream{Name: name, Once: true})
	}
	if w == nil {
		return fmt.Errorf("%w: no workstream %q", ErrFold, name)
	}
	underWay := w.Status == Running && w.RetryAt == nil && w.Held == nil
	w.RetryAt = nil
	s.passStep(e)
	if underWay && endsAttempt(e) {
		s.worked(w, at)
		s.passWorkTree()
	}
	had := w.RecordedSeq()
	defer func() {
		if w.RecordedSeq() > had {
			s.Captures.Behind++
			s.passWorkTree()
		}
	}()
	switch e := e.(type) {
	case WorkstreamStarted:
		left, call := w.Left, w.ongoingCall()
		if !e.Digest.Equal(w.Digest) { // its attempts begin anew
			left = nil
		}
		s.resetWorkstream(w, "", "runs again")
		w.Status, w.StartedAt, w.EndedAt, w.Left = Running, &at, nil, left
		w.Attempts, w.Digest, w.Session, w.Cached, w.Repeat = e.Attempt, e.Digest, "", nil, false
		w.Reported = 0
		switch e.Call {
		case "":
		case call.id:
			w.keepCall(call)
		default:
			w.keepCall(ongoingCall{id: e.Call, seq: seq})
		}
	case WorkstreamAttemptFailed:
		due := at.Add(time.Duration(e.RetryInMS) * time.Millisecond)
		w.Error, w.RetryAt, w.Left = &e.Error, &due, leftAt(seq, e.Left)
	case WorkstreamSucceeded:
		s.record(w, seq, at, e.Work)
		if w.Held = e.Held; w.Held == nil {
			w.Status = Succeeded
		}
		s.noteAct(w)
	case WorkstreamCompleted:
		if w.Held != nil { // now its artifacts are in the workspace
			w.Held, w.FilesSeq = nil, seq
		}
		if e.Work != nil {
			s.record(w, seq, at, *e.Work)
			w.Status = Completed
			s.noteAct(w)
		}
		w.Status, w.Error, w.Reason = Completed, nil, ""
		w.heed()
		s.completeStep(seq, w)
	case WorkstreamFailed:
		w.dropHeld()
		w.Status, w.EndedAt, w.EndedSeq, w.Error, w.Allowed = Failed, &at, seq, &e.Error, e.Allowed
		if e.NotBegun {
			w.forgetCall()
		}
		if underWay {
			w.Left = leftAt(seq, e.Left)
		}
	case WorkstreamInterrupted:
		w.dropHeld()
		w.Status, w.EndedAt, w.EndedSeq, w.WaitsFor, w.Reason = Interrupted, &at, seq, e.WaitsFor, e.Reason
		if e.NotBegun {
			w.forgetCall()
		}
	case WorkstreamUncertain:
		if e.Attempt > 0 {
			s.resetWorkstream(w, "", "runs again")
			w.Attempts, w.StartedAt = e.Attempt, &at
		}
		w.Status, w.EndedAt, w.EndedSeq, w.Error = Uncertain, &at, seq, &e.Error
		w.SameAs = cmp.Or(e.SameAs, w.SameAs)
		if w.Attempts > 0 && w.WorkSeq == 0 {
			s.noteAct(w)
		}
	case WorkstreamResolved:
		s.answered(w.Name, "resolved as "+string(e.Resolution), e.Reason)
		s.resetWorkstream(w, e.Reason, "was resolved as "+string(e.Resolution))
		w.Repeat = e.Resolution == ResolvedRerun
		s.takeBackAct(w.Name)
		if e.Resolution == ResolvedDone {
			s.adoptWork(w, seq, at, e)
			w.EndedAt = &at
			s.noteAct(w)
		}
	case WorkstreamSkipped:
		s.Skip(w, e.Reason)
	case WorkstreamInvalidated:
		call := w.ongoingCall()
		s.resetWorkstream(w, e.Reason, "runs again")
		if e.Call != "" && e.Call == call.id {
			w.keepCall(call)
		}
	case WorkstreamEdited:
		w.Artifacts, w.Edited, w.FilesSeq = e.Artifacts, e.Edited, seq
	}
	return nil
}

// endsAttempt reports whether an event ends the attempt that is under way.
func endsAttempt(e Event) bool {
	switch e.(type) {
	case WorkstreamAttemptFailed, WorkstreamSucceeded, WorkstreamCompleted, WorkstreamFailed, WorkstreamInterrupted, WorkstreamUncertain:
		return true
	}
	return false
}

func leftAt(seq uint64, files []Artifact) *Left {
	if len(files) == 0 {
		return nil
	}
	return &Left{Seq: seq, Files: files}
}

// adoptWork records work as done although no run saw its end. Its artifacts are not known,
// and those of an earlier run do not count unless the event has them. Its digest is that
// of the inputs at the time of the decision.
func (s *State) adoptWork(w *Workstream, seq uint64, at time.Time, e WorkstreamResolved) {
	w.Status, w.WorkSeq, w.Artifacts, w.Edited, w.Outputs = Succeeded, seq, nil, nil, nil
	if e.Work != nil {
		s.record(w, seq, at, *e.Work)
	}
	w.heed()
	w.Digest, w.Session = Digest{}, ""
	if e.Digest != nil {
		w.Digest = *e.Digest
	}
	w.Adopted = AdoptedByHand
	if e.Verified {
		w.Adopted = AdoptedVerified
	}
}

// record takes the results of a successful attempt into the state.
func (s *State) record(w *Workstream, seq uint64, at time.Time, work Work) {
	w.Attempts, w.DurationMS, w.Digest = work.Attempt, work.DurationMS, work.Digest
	w.Outputs, w.Artifacts, w.Summary, w.Location = work.Outputs, work.Artifacts, work.Summary, work.Location
	w.Edited, w.Left, w.Error, w.Reason, w.Cached = nil, nil, nil, "", work.Cached
	w.EndedAt, w.WorkSeq, w.FilesSeq = &at, seq, seq
	if work.Cached != nil { // it was not called
		w.forgetCall()
	}
	w.heed()
	for name, value := range work.Metrics {
		if s.Metrics == nil {
			s.Metrics = make(map[string]Metric)
		}
		s.Metrics[name] = Metric{Value: value, Workstream: w.Name}
	}
	if w.Metrics = nil; len(work.Metrics) > 0 {
		w.Metrics = slices.Sorted(maps.Keys(work.Metrics))
	}
}

// resetWorkstream makes a workstream and its gates pending. The metrics that it set are
// removed, so that no gate passes on a stale number. The pipeline that it calls begins a new
// session. Its step, outputs and artifacts stay
// until it has run again, because they say which files are its. The gates of its phase are
// judged again with the reason "<name> <become>"; with become "" they keep their verdicts.
func (s *State) resetWorkstream(w *Workstream, reason Text, become string) {
	s.removeMetrics(w)
	w.dropHeld()
	w.LastFailure = w.LastFailed()
	w.Status, w.WorkSeq, w.Rejected, w.Imported, w.Adopted, w.Allowed = Pending, 0, "", false, "", false
	w.Error, w.Reason, w.Left, w.WaitsFor = nil, reason, nil, ""
	w.forgetCall()
	for _, g := range w.Gates {
		g.resetVerdict(reason)
	}
	if w.phase == nil || become == "" {
		return
	}
	for _, g := range w.phase.Gates { // they judged the earlier result
		if g.Status != Pending {
			g.resetVerdict(Text(w.Name + " " + become))
		}
	}
}

// removeMetrics removes the metrics that a workstream set, unless another one has set them
// since.
func (s *State) removeMetrics(w *Workstream) {
	for _, name := range w.Metrics {
		if s.Metrics[name].Workstream == w.Name {
			delete(s.Metrics, name)
		}
	}
	w.Metrics = nil
}

// WorkstreamOf returns the workstream that an event is about; false for events that are
// about none.
func WorkstreamOf(e Event) (string, bool) {
	switch e := e.(type) {
	case WorkstreamStarted:
		return e.Workstream, true
	case WorkstreamAttemptFailed:
		return e.Workstream, true
	case WorkstreamSucceeded:
		return e.Workstream, true
	case WorkstreamCompleted:
		return e.Workstream, true
	case WorkstreamFailed:
		return e.Workstream, true
	case WorkstreamInterrupted:
		return e.Workstream, true
	case WorkstreamUncertain:
		return e.Workstream, true
	case WorkstreamResolved:
		return e.Workstream, true
	case WorkstreamSkipped:
		return e.Workstream, true
	case WorkstreamInvalidated:
		return e.Workstream, true
	case WorkstreamEdited:
		return e.Workstream, true
	}
	return "", false
}
