package state

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Iteration is where a phase that repeats stands.
type Iteration struct {
	Index int `json:"index"` // of the current iteration, from 1
	Max   int `json:"max"`

	Reason   Text      `json:"reason,omitempty"`   // why the iteration before was not the last
	Failures []Failure `json:"failures,omitempty"` // of the iteration before
	Results  string    `json:"results,omitempty"`  // digest of the results of the iteration before
}

// WhyLast says why no iteration follows, "" if one may follow: the iteration was the last
// that is allowed, or it changed nothing. why says what failed in it. results is what it has
// come to, as ComparableResults returns it.
func (it *Iteration) WhyLast(why, results string) string {
	switch {
	case it.Index >= it.Max:
		return fmt.Sprintf("iteration %d of at most %d has ended, and %s", it.Index, it.Max, why)
	case results != "" && results == it.Results:
		return fmt.Sprintf("iteration %d changed nothing: its results, files and failures are those of iteration %d", it.Index, it.Index-1)
	}
	return ""
}

// ComparableResults returns the digest of what an iteration of a phase has come to, "" if
// it can't be told whether it changed a file: captures have all files of a git work tree, or
// the phase has artifacts. captured says that the last capture has the files.
func (s *State) ComparableResults(p *Phase, captured bool) string {
	known, files := false, ""
	if c := s.Capture; c != nil && captured {
		known, files = c.Commit != "", c.Listing
	}
	for _, w := range p.Workstreams {
		known = known || len(w.Artifacts) > 0
	}
	if !known {
		return ""
	}
	return p.results(s.Metrics, files)
}

// iteration returns the iteration of a phase of a shape, which had another record before.
func (ps PhaseShape) iteration(had *Iteration) *Iteration {
	if ps.MaxIterations == 0 {
		return nil
	}
	if had == nil {
		return &Iteration{Index: 1, Max: ps.MaxIterations}
	}
	next := *had
	next.Max = ps.MaxIterations
	return &next
}

// IterationOf returns the number of the current iteration of a phase: 1 if it does not
// repeat, or is not known.
func (s *State) IterationOf(phase string) int {
	if p := s.Phase(phase); p != nil && p.Iteration != nil {
		return p.Iteration.Index
	}
	return 1
}

// repeatPhase begins the next iteration of a phase.
func (s *State) repeatPhase(e PhaseRepeated) error {
	p := s.Phase(e.Phase)
	if p == nil || p.Iteration == nil || e.Iteration != p.Iteration.Index+1 {
		return fmt.Errorf("%w: phase %q does not come to iteration %d", ErrFold, e.Phase, e.Iteration)
	}
	p.Iteration = &Iteration{Index: e.Iteration, Max: p.Iteration.Max, Reason: e.Reason, Failures: e.Failures, Results: e.Results}
	reason := Text(fmt.Sprintf("iteration %d of %s", e.Iteration, p.Name))
	for _, w := range p.Workstreams {
		left := w.Left // what a failed attempt left is no edit
		s.resetWorkstream(w, reason, "")
		w.Left = left
	}
	for _, g := range p.Gates {
		g.resetVerdict(reason)
	}
	return nil
}

// results returns a digest of what the workstreams and gates of the phase have come to:
// outputs, metrics, artifacts and failures. files stands for the other files, "" if they are
// not known.
func (p *Phase) results(metrics map[string]Metric, files string) string {
	type result struct {
		Status    StepStatus
		Outputs   map[string]Text
		Artifacts map[Text]string
		Metrics   map[string]any
		Failure   Failure
	}
	results := map[string]any{"files": files}
	failed := func(f *Failure) (g Failure) {
		if f == nil {
			return g
		}
		g = *f
		if g.Log == "" { // no process has failed: the place is one in the pipeline, which an edit elsewhere moves
			g.Line, g.Column = 0, 0
		}
		g.Log = ""             // named after the attempt
		if g.CalledOff != "" { // when another step failed is chance
			g.Message, g.CalledOff = Text(strings.TrimPrefix(string(g.Message), string(g.CalledOff)+": ")), ""
		}
		return g
	}
	gates := func(list []*Gate) {
		for _, g := range list {
			results["gate "+g.Label] = result{Status: g.Status, Failure: failed(g.Error)}
		}
	}
	for _, w := range p.Workstreams {
		r := result{Status: w.Status, Outputs: w.Outputs, Artifacts: map[Text]string{}, Metrics: map[string]any{}, Failure: failed(w.Error)}
		for _, a := range w.Artifacts {
			r.Artifacts[a.Path] = a.Digest
		}
		for _, name := range w.Metrics {
			r.Metrics[name] = metrics[name].Value
		}
		results["workstream "+w.Name] = r
		gates(w.Gates)
	}
	gates(p.Gates)
	data, err := json.Marshal(results)
	if err != nil {
		return "" // metrics are numbers, booleans and texts
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
