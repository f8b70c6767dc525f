// Package ledger defines what workstreams report while they run, and the ledgers in which
// a session keeps it.
//
//	line of RUNNER_REPORT → Parse → Report → Admission.Admit → event → Ledgers.Apply
//
// A Report is one line. Admission decides whether it is recorded: it refuses a report that
// contradicts the ledgers, such as a second capture of the same knowledge, and passes over
// one that changes nothing. Ledgers holds the messages, conflicts, knowledge and values of
// a session; package state has them as a part of its State.
//
// Everything here is a value or a pure function of values: no files, no clock. Package
// runner reads the lines; FORMAT.md in the directory of package checkpoint describes the
// JSON. A new type of report needs a constant and a line in the table of rules in
// report.go, and a case in Admit and in Apply.
package ledger

import (
	"maps"
	"slices"
	"time"

	"prdrunner/checkpoint/text"
)

// Text is a string that JSON preserves byte for byte.
type Text = text.Text

// Ledgers are what the workstreams of a session reported and what stays known about it.
// Each map is keyed by the id or the key of its entries.
type Ledgers struct {
	Messages  map[string]Message   `json:"messages,omitempty"`
	Conflicts map[string]Conflict  `json:"conflicts,omitempty"`
	Knowledge map[string]Knowledge `json:"knowledge,omitempty"`
	Values    map[string]Value     `json:"values,omitempty"`
}

// Status is how far a message, a conflict or a piece of knowledge is.
type Status string

// The statuses of messages.
const (
	Pending  Status = "pending"  // it is to be delivered
	Awaiting Status = "awaiting" // it is delivered, and has no response
	Done     Status = "done"     // nothing is expected any more
)

// The statuses of conflicts.
const (
	Start    Status = "start"
	Resolved Status = "resolved"
)

// The statuses of knowledge. A piece of knowledge can also be pending: its capture is due.
const (
	Injected Status = "injected" // it was given to an agent
	Captured Status = "captured" // it was stored in a knowledge base, which happens once
)

// Message is a message between agents.
type Message struct {
	From     string    `json:"from,omitempty"` // the workstream that reported it first
	To       string    `json:"to,omitempty"`
	Status   Status    `json:"status"`
	Body     Text      `json:"body,omitempty"`
	Response Text      `json:"response,omitempty"`
	At       time.Time `json:"at"`      // of its first report
	Changed  time.Time `json:"changed"` // of its last one
}

// Conflict is a disagreement between agents.
type Conflict struct {
	From       string     `json:"from,omitempty"` // the workstream that reported its start
	Parties    []string   `json:"parties,omitempty"`
	Reason     Text       `json:"reason,omitempty"`
	State      Text       `json:"state,omitempty"` // what the debate has come to, in the words of the reporter
	Resolution Text       `json:"resolution,omitempty"`
	StartedAt  time.Time  `json:"started_at"`
	ResolvedAt *time.Time `json:"resolved_at,omitempty"` // nil: it is not resolved
}

// Knowledge is an entry of a knowledge base that workstreams used or made.
type Knowledge struct {
	From       string     `json:"from,omitempty"`    // the workstream that reported it last
	Pending    bool       `json:"pending,omitempty"` // its capture is due
	InjectedAt *time.Time `json:"injected_at,omitempty"`
	CapturedAt *time.Time `json:"captured_at,omitempty"`
}

// Value is the value of a key that workstreams or people set.
type Value struct {
	Value Text      `json:"value"`
	From  string    `json:"from,omitempty"` // the workstream that set it, "" if a person did
	By    string    `json:"by,omitempty"`   // the user who set it, "" if a workstream did
	At    time.Time `json:"at"`
}

// Source is where a report comes from: a workstream, or a user.
type Source struct {
	Workstream string
	User       string
}

// Apply folds a report into the ledgers. A report that contradicts them changes nothing;
// Admission refuses it before it is recorded. Notes, metrics, outputs and checkpoints are
// not kept in ledgers.
func (l *Ledgers) Apply(r Report, from Source, at time.Time) {
	switch r.Type {
	case TypeMessage:
		l.applyMessage(r, from, at)
	case TypeConflict:
		l.applyConflict(r, from, at)
	case TypeKnowledge:
		l.applyKnowledge(r, from, at)
	case TypeState:
		if r.Unset {
			delete(l.Values, r.Key)
			return
		}
		set(&l.Values, r.Key, Value{Value: r.Text(), From: from.Workstream, By: from.User, At: at})
	case TypeNote, TypeMetric, TypeOutput, TypeCheckpoint:
	}
}

// SetBack gives a key the value that it had; nil: it is not set.
func (l *Ledgers) SetBack(key string, value *Value) {
	if value == nil {
		delete(l.Values, key)
		return
	}
	set(&l.Values, key, *value)
}

func (l *Ledgers) applyMessage(r Report, from Source, at time.Time) {
	m, known := l.Messages[r.ID]
	if !known {
		m = Message{From: from.Workstream, Status: Pending, At: at}
	}
	if m.Status == Done {
		return
	}
	m.Changed = at
	replace(&m.To, r.To)
	replace(&m.Status, r.Status)
	replace(&m.Body, r.Body)
	replace(&m.Response, r.Response)
	set(&l.Messages, r.ID, m)
}

func (l *Ledgers) applyConflict(r Report, from Source, at time.Time) {
	c, known := l.Conflicts[r.ID]
	switch {
	case c.ResolvedAt != nil || !known && r.Status == Resolved:
		return
	case !known:
		c = Conflict{From: from.Workstream, StartedAt: at}
	}
	replace(&c.State, r.State)
	if r.Status == Resolved {
		c.ResolvedAt = &at
		replace(&c.Resolution, r.Reason)
	} else {
		replace(&c.Reason, r.Reason)
	}
	if len(r.Parties) > 0 {
		c.Parties = r.Parties
	}
	set(&l.Conflicts, r.ID, c)
}

func (l *Ledgers) applyKnowledge(r Report, from Source, at time.Time) {
	k := l.Knowledge[r.ID]
	switch {
	case r.Status == Injected && k.InjectedAt == nil:
		k.InjectedAt = &at
	case r.Status == Captured && k.CapturedAt == nil:
		k.CapturedAt, k.Pending = &at, false
	case r.Status == Pending && k.CapturedAt == nil:
		k.Pending = true
	default:
		return
	}
	k.From = from.Workstream
	set(&l.Knowledge, r.ID, k)
}

// replace sets *p to value, unless value is empty.
func replace[T ~string](p *T, value T) {
	if value != "" {
		*p = value
	}
}

func set[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = make(map[string]V)
	}
	(*m)[key] = value
}

// Clone returns a copy of the ledgers that shares no map.
func (l *Ledgers) Clone() Ledgers {
	return Ledgers{Messages: maps.Clone(l.Messages), Conflicts: maps.Clone(l.Conflicts), Knowledge: maps.Clone(l.Knowledge), Values: maps.Clone(l.Values)}
}

// IsZero reports whether nothing is in the ledgers.
func (l *Ledgers) IsZero() bool {
	return len(l.Messages)+len(l.Conflicts)+len(l.Knowledge)+len(l.Values) == 0
}

// KeepCaptures adds the captures of knowledge that other ledgers have. A capture happens
// outside the session, so going back to an earlier state does not undo it.
func (l *Ledgers) KeepCaptures(of Ledgers) {
	for id, k := range of.Knowledge {
		if k.CapturedAt == nil || l.Knowledge[id].CapturedAt != nil {
			continue
		}
		had := l.Knowledge[id]
		had.CapturedAt, had.From, had.Pending = k.CapturedAt, k.From, false
		set(&l.Knowledge, id, had)
	}
}

// MessagesWith returns the ids of the messages with a status, sorted.
func (l *Ledgers) MessagesWith(status Status) []string {
	return ids(l.Messages, func(m Message) bool { return m.Status == status })
}

// OpenConflicts returns the ids of the conflicts that are not resolved, sorted.
func (l *Ledgers) OpenConflicts() []string {
	return ids(l.Conflicts, func(c Conflict) bool { return c.ResolvedAt == nil })
}

// KnowledgeWith returns the ids of the knowledge with a status, sorted.
func (l *Ledgers) KnowledgeWith(status Status) []string {
	return ids(l.Knowledge, func(k Knowledge) bool {
		switch status {
		case Injected:
			return k.InjectedAt != nil
		case Captured:
			return k.CapturedAt != nil
		case Pending:
			return k.Pending
		case Awaiting, Done, Start, Resolved:
		}
		return false
	})
}

// ids returns the sorted keys of the entries that match.
func ids[V any](m map[string]V, match func(V) bool) []string {
	list := []string{}
	for id, v := range m {
		if match(v) {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}
