package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrImport says that a document does not belong to the pipeline.
var ErrImport = errors.New("the document does not fit the pipeline")

// CheckImport reports every name in a hand-written document that the pipeline
// does not have. A session that starts from a document which fails it is
// refused.
func (d Document) CheckImport(shape Shape) error {
	workstreams, gates := map[string]bool{}, map[string]bool{}
	add := func(names []string, owner string) {
		for _, name := range names {
			gates[name] = true
			gates[name+" ("+owner+")"] = true
		}
	}
	for _, p := range shape.Phases {
		add(p.Gates, p.Name)
		for _, w := range p.Workstreams {
			workstreams[w.Name] = true
			add(w.Gates, w.Name)
		}
	}
	var wrong []error
	for _, name := range slices.Concat(d.Completed, d.InProgress, d.Pending) {
		if !workstreams[name] {
			wrong = append(wrong, fmt.Errorf("%w: it has no workstream %q", ErrImport, name))
		}
	}
	for _, name := range slices.Concat(d.GatesPassed, d.GatesPending) {
		if !gates[name] {
			wrong = append(wrong, fmt.Errorf("%w: it has no gate %q", ErrImport, name))
		}
	}
	return errors.Join(wrong...)
}

// adoptDocument takes over what a document written by hand says is done. A workstream
// whose gates have not all passed is judged again. A gate counts as passed only if the
// work that it judges is done. Artifacts have a path only; a WorkstreamEdited event adds
// their digests.
func (s *State) adoptDocument(at time.Time, d Document) error {
	if err := d.CheckImport(s.currentShape()); err != nil {
		return err
	}
	s.Notes = d.Notes
	s.Review = importedReview(d.Review, at)
	passed := importedGates(d)
	for _, name := range d.Completed {
		w := s.Workstream(name)
		if w.Imported {
			continue // named twice
		}
		w.Status, w.Imported, w.EndedAt = Succeeded, true, &at
		for _, path := range d.Artifacts[name] {
			w.Artifacts = append(w.Artifacts, Artifact{Path: Text(path)})
		}
		if passGates(w.Gates, passed, at) {
			w.Status = Completed
		}
	}
	for _, p := range s.Phases {
		if !p.Finished() {
			break
		}
		if !passGates(p.Gates, passed, at) {
			break
		}
		p.Status, p.CompletedAt = Completed, &at
	}
	s.CurrentPhase = max(0, min(d.CurrentPhase, len(s.Phases)))
	if s.CurrentPhase > 0 {
		s.Status = StatusInProgress
	}
	return s.adoptImported(d.Imported, at)
}

// importedGates returns a function that says whether the gate with a label has passed. An
// entry with the label wins over one with the bare name.
func importedGates(d Document) func(label string) bool {
	return func(label string) bool {
		if slices.Contains(d.GatesPending, label) {
			return false
		}
		if slices.Contains(d.GatesPassed, label) {
			return true
		}
		name, _, _ := CutLabel(label)
		return slices.Contains(d.GatesPassed, name)
	}
}

// passGates passes the gates that the document lists and reports whether these are all.
func passGates(gates []*Gate, passed func(label string) bool, at time.Time) bool {
	all := true
	for _, g := range gates {
		if !passed(g.Label) {
			all = false
			continue
		}
		g.decide(at, Passed, Verdict{})
	}
	return all
}

// Label returns the label of a gate: its name, and its owner in parentheses.
func Label(name, owner string) string { return name + " (" + owner + ")" }

// CutLabel splits a gate's label into its name and its owner.
func CutLabel(label string) (name, owner string, ok bool) {
	name, owner, ok = strings.Cut(label, " (")
	return name, strings.TrimSuffix(owner, ")"), ok
}

// currentShape returns the shape that the state has.
func (s *State) currentShape() Shape {
	names := func(gates []*Gate) []string {
		var bare []string
		for _, g := range gates {
			name, _, _ := CutLabel(g.Label)
			bare = append(bare, name)
		}
		return bare
	}
	shape := Shape{Phases: make([]PhaseShape, len(s.Phases))}
	for i, p := range s.Phases {
		ps := PhaseShape{Name: p.Name, Title: p.Title, Gates: names(p.Gates)}
		for _, w := range p.Workstreams {
			ps.Workstreams = append(ps.Workstreams, WorkstreamShape{Name: w.Name, Title: w.Title, Batch: w.Batch, Gates: names(w.Gates)})
		}
		shape.Phases[i] = ps
	}
	return shape
}

// CheckStructure refuses a decoded state that lacks values which the fold relies on.
func (s *State) CheckStructure() error {
	for _, p := range s.Phases {
		if p == nil || slices.Contains(p.Gates, nil) || slices.Contains(p.Workstreams, nil) {
			return errors.New("a phase, a workstream or a gate is null")
		}
		for _, w := range p.Workstreams {
			if slices.Contains(w.Gates, nil) {
				return errors.New("a gate is null")
			}
		}
	}
	if slices.ContainsFunc(s.Gone, func(w *Workstream) bool { return w == nil || slices.Contains(w.Gates, nil) }) {
		return errors.New("a workstream that is gone, or a gate of it, is null")
	}
	if slices.Contains(s.Checkpoints, nil) {
		return errors.New("a checkpoint is null")
	}
	if s.CurrentPhase < 0 || s.CurrentPhase > len(s.Phases) {
		return errors.New("it is in a phase that it does not have")
	}
	s.indexed()
	return nil
}
