package state

import (
	"fmt"
	"slices"
	"time"

	"prdrunner/checkpoint/ledger"
)

// Imported is what a document holds besides the fields of its format if it was made from a
// checkpoint of another tool. The session that begins from the document begins with it.
type Imported struct {
	Format     string `json:"format"`               // of the checkpoint: crunch, go-team, orchestrate
	Session    string `json:"session,omitempty"`    // as the other tool names it
	Checkpoint string `json:"checkpoint,omitempty"` // likewise
	CreatedAt  string `json:"created_at,omitempty"` // of the checkpoint, ISO 8601

	PhaseStartedAt string `json:"phase_started_at,omitempty"` // of the current phase, ISO 8601
	PhaseAttempt   int    `json:"phase_attempt,omitempty"`
	IterationCount int    `json:"iteration_count,omitempty"`

	Results   map[string]ImportedResult `json:"results,omitempty"`   // by workstream
	Uncertain []string                  `json:"uncertain,omitempty"` // workstreams that must happen only once, are not completed, and may have happened
	Metrics   map[string]any            `json:"metrics,omitempty"`
	Values    map[string]string         `json:"values,omitempty"`    // of "runner state"
	Messages  ImportedMessages          `json:"messages,omitzero"`   // their ids
	Conflicts []string                  `json:"conflicts,omitempty"` // the ids of those that are not resolved
	Knowledge ImportedKnowledge         `json:"knowledge,omitzero"`  // the ids of its entries
	Issue     *ImportedIssue            `json:"issue,omitempty"`
	Git       *ImportedGit              `json:"git,omitempty"`
}

// ImportedResult is the result of a completed workstream.
type ImportedResult struct {
	CompletedAt string            `json:"completed_at,omitempty"` // ISO 8601
	Summary     string            `json:"output_summary,omitempty"`
	Location    string            `json:"output_location,omitempty"`
	Outputs     map[string]string `json:"outputs,omitempty"`
}

// ImportedMessages are the messages that are not done, by their status.
type ImportedMessages struct {
	Pending  []string `json:"pending,omitempty"`
	Awaiting []string `json:"awaiting,omitempty"`
}

// ImportedKnowledge are the entries of a knowledge base, by what happened to them.
type ImportedKnowledge struct {
	Injected []string `json:"injected,omitempty"`
	Captured []string `json:"captured,omitempty"`
	Pending  []string `json:"pending,omitempty"`
}

// ImportedIssue is the issue of the tracker at the checkpoint.
type ImportedIssue struct {
	Number     int      `json:"number,omitempty"`
	Title      string   `json:"title"`
	Body       string   `json:"body,omitempty"`
	Labels     []string `json:"labels,omitempty"`
	Assignees  []string `json:"assignees,omitempty"`
	StateLabel string   `json:"state_label,omitempty"` // the label of the current phase
}

// ImportedGit is where the work tree stood at the checkpoint.
type ImportedGit struct {
	Branch string `json:"branch,omitempty"`
	Commit string `json:"commit,omitempty"`
}

// adoptImported takes over what the checkpoint of another tool recorded. The workstreams
// of the document must have been taken over before. now is the time of the import.
func (s *State) adoptImported(i *Imported, now time.Time) error {
	if i == nil {
		return nil
	}
	at := importedTime(i.CreatedAt, now)
	for name, result := range i.Results {
		w := s.Workstream(name)
		if w == nil || !w.Imported {
			return fmt.Errorf("%w: it has a result of %q, which is not completed", ErrImport, name)
		}
		ended := importedTime(result.CompletedAt, at)
		w.EndedAt, w.Summary, w.Location = &ended, Text(result.Summary), Text(result.Location)
		for name, value := range result.Outputs {
			setIn(&w.Outputs, name, Text(value))
		}
	}
	for name, value := range i.Metrics {
		setIn(&s.Metrics, name, Metric{Value: value})
	}
	s.adoptImportedLedgers(i, at)
	if err := s.doubt(i); err != nil {
		return err
	}
	if p := s.Phase(s.PhaseName()); p != nil {
		p.Attempt = i.PhaseAttempt
		if i.PhaseStartedAt != "" {
			started := importedTime(i.PhaseStartedAt, at)
			p.StartedAt = &started
		}
		if p.Iteration != nil && i.IterationCount > 0 {
			p.Iteration.Index = min(i.IterationCount, p.Iteration.Max)
		}
	}
	if i.Issue != nil && s.Issue == nil {
		s.Issue = i.Issue.issue(s.PhaseName())
	}
	if i.Git != nil && s.Git == nil {
		s.Git = &Git{Branch: Text(i.Git.Branch), Commit: i.Git.Commit}
	}
	return nil
}

// doubt marks the workstreams as uncertain that may have happened.
func (s *State) doubt(i *Imported) error {
	for _, name := range i.Uncertain {
		w := s.Workstream(name)
		if w == nil || w.Imported {
			return fmt.Errorf("%w: %q is uncertain, but is not pending", ErrImport, name)
		}
		w.Status = Uncertain
		w.Error = &Failure{Workstream: name, Outcome: "unknown", Message: Text(fmt.Sprintf("the checkpoint of %s does not say whether it has happened", i.Format))}
	}
	return nil
}

// adoptImportedLedgers takes over the ids of messages, conflicts and knowledge, and the
// values.
func (s *State) adoptImportedLedgers(i *Imported, at time.Time) {
	l := ledger.Ledgers{}
	for _, list := range []struct {
		ids    []string
		status ledger.Status
	}{{i.Messages.Pending, ledger.Pending}, {i.Messages.Awaiting, ledger.Awaiting}} {
		for _, id := range list.ids {
			setIn(&l.Messages, id, ledger.Message{Status: list.status, At: at, Changed: at})
		}
	}
	for _, id := range i.Conflicts {
		setIn(&l.Conflicts, id, ledger.Conflict{StartedAt: at})
	}
	knowledge := func(ids []string, change func(*ledger.Knowledge)) {
		for _, id := range ids {
			k := l.Knowledge[id]
			change(&k)
			setIn(&l.Knowledge, id, k)
		}
	}
	knowledge(i.Knowledge.Injected, func(k *ledger.Knowledge) { k.InjectedAt = &at })
	knowledge(i.Knowledge.Pending, func(k *ledger.Knowledge) { k.Pending = true })
	knowledge(i.Knowledge.Captured, func(k *ledger.Knowledge) { k.CapturedAt, k.Pending = &at, false })
	for key, value := range i.Values {
		setIn(&l.Values, key, ledger.Value{Value: Text(value), At: at})
	}
	captured := s.Ledgers
	s.Ledgers = l
	s.Ledgers.KeepCaptures(captured)
}

// issue returns the issue as a run would have found it.
func (i *ImportedIssue) issue(phase string) *Issue {
	issue := &Issue{Number: i.Number, Labels: sortedNames(i.Labels), Assignees: sortedNames(i.Assignees), StateLabel: i.StateLabel}
	if i.StateLabel != "" {
		issue.Phase = phase
	}
	issue.SetText(i.Title, i.Body)
	return issue
}

// sortedNames returns names in order, each once. The result is never nil.
func sortedNames(names []string) []string {
	sorted := append([]string{}, names...)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// importedTime returns a time of a document, or another one if the document has none.
// Package document has refused what is no time.
func importedTime(text string, otherwise time.Time) time.Time {
	if at, ok := ParseTimestamp(text); ok {
		return at
	}
	return otherwise
}

// ParseTimestamp parses an ISO 8601 time in one of the forms that people and programs write.
// One without a zone is in UTC.
func ParseTimestamp(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "20060102T150405Z0700", "2006-01-02"} {
		if at, err := time.Parse(layout, s); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// setIn sets an entry of a map, which it makes first if necessary.
func setIn[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = make(map[string]V)
	}
	(*m)[key] = value
}
