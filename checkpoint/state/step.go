package state

import "slices"

// LastStep is the step that completed last. What a session began with, from a
// document or a complete session, has no step: the zero value is the start.
type LastStep struct {
	Step int `json:"step,omitempty"`
	// Workstreams are the ones that completed in the same commit, and so at the same
	// moment. The last one gives the step its name.
	Workstreams []string `json:"workstreams,omitempty"`
	Seq         uint64   `json:"seq,omitempty"` // of that commit
	// Later says that something has happened to a workstream or its files since.
	Later bool `json:"later,omitempty"`
}

// CurrentStep returns the number of the step that completed last, 0 at the start.
func (s *State) CurrentStep() int {
	if s.LastStep.Step == 0 { // version 1.0 recorded the count alone
		return s.Steps
	}
	return s.LastStep.Step
}

// StepName returns the workstream that completed last, "" at the start.
func (s *State) StepName() string {
	step := s.CurrentStep()
	if names := s.LastStep.Workstreams; len(names) > 0 {
		return names[len(names)-1]
	}
	for w := range s.Records() {
		if step > 0 && w.Step == step {
			return w.Name
		}
	}
	return ""
}

// completeStep records that a workstream completed with its gates. Its first completion
// gives it a number, which it keeps when it runs again. Checkpoints that were made earlier
// in the same commit restore the whole commit, so they belong to this step too.
func (s *State) completeStep(seq uint64, w *Workstream) {
	if w.Step == 0 {
		s.Steps++
		w.Step = s.Steps
	}
	var names []string
	if s.LastStep.Seq == seq {
		names = slices.Clone(s.LastStep.Workstreams)
	}
	s.LastStep = LastStep{Step: w.Step, Workstreams: append(names, w.Name), Seq: seq}
	created, modified := -1, -1
	for _, ref := range slices.Backward(s.Checkpoints) {
		if ref.Seq != seq {
			return
		}
		if created < 0 {
			created, modified = s.CountStepFiles()
		}
		ref.Step, ref.StepName, ref.StepSeq, ref.Later = w.Step, w.Name, seq, false
		ref.Created, ref.Modified = created, modified
	}
}

// passStep records that an event changed a workstream after the last step completed: the
// files may differ from those at that step. Decisions about the records that a session
// begins with do not count; the session begins with the first workstream that starts.
func (s *State) passStep(e Event) {
	switch e.(type) {
	case WorkstreamStarted:
		s.LastStep.Later = true
	case WorkstreamSkipped:
	default:
		s.LastStep.Later = s.LastStep.Later || s.LastStep.Step > 0
	}
}

// Files are the artifacts that a step made and changed.
type Files struct {
	Created  []Text `json:"created"`
	Modified []Text `json:"modified"`
}

// StepFiles returns the files of the step that completed last.
func (s *State) StepFiles() Files {
	f := Files{Created: []Text{}, Modified: []Text{}}
	for _, a := range s.stepArtifacts() {
		switch a.Change {
		case FileCreated:
			f.Created = append(f.Created, a.Path)
		case FileModified:
			f.Modified = append(f.Modified, a.Path)
		}
	}
	return f
}

// CountStepFiles counts the files of the step that completed last.
func (s *State) CountStepFiles() (created, modified int) {
	for _, a := range s.stepArtifacts() {
		switch a.Change {
		case FileCreated:
			created++
		case FileModified:
			modified++
		}
	}
	return created, modified
}

// stepArtifacts returns the artifacts of the workstreams that completed last. A workstream
// that was invalidated since, or runs again, has none.
func (s *State) stepArtifacts() []Artifact {
	var all []Artifact
	for _, name := range s.LastStep.Workstreams {
		if w := s.Workstream(name); w != nil && w.Status == Completed { // nil: the pipeline no longer has it
			all = append(all, w.Artifacts...)
		}
	}
	return all
}
