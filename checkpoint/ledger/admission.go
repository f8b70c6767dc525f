package ledger

import (
	"errors"
	"fmt"
	"time"
)

// MaxSize bounds what the ledgers and notes of a session hold, in bytes. Every checkpoint
// holds them.
const MaxSize = 4 << 20

// entryOverhead is about what an entry takes in addition to its texts.
const entryOverhead = 128

// Effect is what a report does if it is recorded.
type Effect int

// The effects.
const (
	Unchanged        Effect = iota // the ledgers have it already; it need not be recorded
	Changed                        // it adds or changes something
	ConflictStarted                // it starts a conflict
	ConflictResolved               // it resolves one
	CheckpointAsked                // it asks for a checkpoint
)

// Note is a note of a session, as its PRD document has it. A cleanup is one text there, so
// its File is empty: CleanupText has both.
type Note struct {
	Kind   string
	File   Text
	Change Text
}

// CleanupText returns the text of a cleanup in the PRD document.
func CleanupText(file, change Text) Text {
	if file == "" {
		return change
	}
	return file + ": " + change
}

// Admission decides which reports of a run are recorded. It holds the ledgers as they are
// with all reports that it admitted. It is not safe for concurrent use.
type Admission struct {
	ledgers Ledgers
	notes   map[Note]bool
	size    int
}

// NewAdmission returns an admission that begins with the given ledgers and notes. It keeps
// copies.
func NewAdmission(l Ledgers, notes []Note) *Admission {
	a := &Admission{ledgers: l.Clone(), notes: make(map[Note]bool, len(notes))}
	for _, n := range notes {
		a.notes[n] = true
		a.size += n.size()
	}
	for id, m := range l.Messages {
		a.size += m.size(id)
	}
	for id, c := range l.Conflicts {
		a.size += c.size(id)
	}
	for id := range l.Knowledge {
		a.size += len(id) + entryOverhead
	}
	for key, v := range l.Values {
		a.size += v.size(key)
	}
	return a
}

// Admit decides about a report. Its error says why the report is refused; the admission is
// unchanged then.
func (a *Admission) Admit(r Report, from Source, at time.Time) (Effect, error) {
	effect, grows, err := a.consider(r)
	if err != nil || effect == Unchanged {
		return Unchanged, err
	}
	if grows > 0 && a.size+grows > MaxSize {
		return Unchanged, fmt.Errorf("the session already holds %d MiB of reports, and keeps no more", MaxSize>>20)
	}
	a.size += grows
	if r.Type == TypeNote {
		a.notes[noteOf(r)] = true
	}
	a.ledgers.Apply(r, from, at)
	return effect, nil
}

// consider returns the effect that a report would have, and by how many bytes it would make
// the ledgers grow.
func (a *Admission) consider(r Report) (Effect, int, error) {
	switch r.Type {
	case TypeNote:
		n := noteOf(r)
		if a.notes[n] {
			return Unchanged, 0, nil
		}
		return Changed, n.size(), nil
	case TypeMessage:
		return a.considerMessage(r)
	case TypeConflict:
		return a.considerConflict(r)
	case TypeKnowledge:
		return a.considerKnowledge(r)
	case TypeState:
		had, has := a.ledgers.Values[r.Key]
		switch {
		case r.Unset && !has, has && !r.Unset && had.Value == r.Text():
			return Unchanged, 0, nil
		case r.Unset:
			return Changed, -had.size(r.Key), nil
		case has:
			return Changed, len(r.Text()) - len(had.Value), nil
		}
		return Changed, Value{Value: r.Text()}.size(r.Key), nil
	case TypeCheckpoint:
		return CheckpointAsked, 0, nil
	case TypeMetric:
		_, err := SpentBy(r)
		return Changed, 0, err
	case TypeOutput:
	}
	return Changed, 0, nil
}

func (a *Admission) considerMessage(r Report) (Effect, int, error) {
	had, known := a.ledgers.Messages[r.ID]
	same := known && repeats(had.To, r.To) && repeats(had.Status, r.Status) && repeats(had.Body, r.Body) && repeats(had.Response, r.Response)
	switch {
	case same:
		return Unchanged, 0, nil
	case !known && r.Body == "":
		return Unchanged, 0, fmt.Errorf("there is no message %s, and a new one needs a body", r.ID)
	case had.Status == Done:
		return Unchanged, 0, fmt.Errorf("the message %s is done since %s; a new message needs another id", r.ID, had.Changed.UTC().Format(time.RFC3339))
	}
	next := had
	replace(&next.To, r.To)
	replace(&next.Body, r.Body)
	replace(&next.Response, r.Response)
	grows := next.size(r.ID)
	if known {
		grows -= had.size(r.ID)
	}
	return Changed, grows, nil
}

// repeats reports whether a report leaves a field as it is.
func repeats[T ~string](had, given T) bool { return given == "" || given == had }

func (a *Admission) considerConflict(r Report) (Effect, int, error) {
	had, known := a.ledgers.Conflicts[r.ID]
	switch {
	case !known && r.Status == Resolved:
		return Unchanged, 0, fmt.Errorf("there is no conflict %s to resolve", r.ID)
	case had.ResolvedAt != nil && r.Status == Resolved:
		return Unchanged, 0, nil
	case had.ResolvedAt != nil:
		return Unchanged, 0, fmt.Errorf("the conflict %s was resolved at %s; a new conflict needs another id", r.ID, had.ResolvedAt.UTC().Format(time.RFC3339))
	case !known && len(r.Parties) == 0:
		return Unchanged, 0, errors.New(`a conflict that starts needs "parties"`)
	}
	grows := len(r.Reason) + len(r.State)
	switch {
	case r.Status == Resolved:
		return ConflictResolved, grows, nil
	case !known:
		return ConflictStarted, Conflict{Parties: r.Parties, Reason: r.Reason, State: r.State}.size(r.ID), nil
	case repeats(had.Reason, r.Reason) && repeats(had.State, r.State) && (len(r.Parties) == 0 || list(r.Parties) == list(had.Parties)):
		return Unchanged, 0, nil
	}
	return Changed, grows, nil
}

func (a *Admission) considerKnowledge(r Report) (Effect, int, error) {
	had, known := a.ledgers.Knowledge[r.ID]
	captured := had.CapturedAt != nil
	switch {
	case r.Status == Captured && captured:
		return Unchanged, 0, &CapturedError{ID: r.ID, From: had.From, At: *had.CapturedAt}
	case r.Status == Pending && captured:
		return Unchanged, 0, &CapturedError{ID: r.ID, From: had.From, At: *had.CapturedAt}
	case r.Status == Injected && had.InjectedAt != nil, r.Status == Pending && had.Pending:
		return Unchanged, 0, nil
	case known:
		return Changed, 0, nil
	}
	return Changed, len(r.ID) + entryOverhead, nil
}

// CapturedError refuses a second capture of the same knowledge.
type CapturedError struct {
	ID   string
	From string // the workstream that reported the capture
	At   time.Time
}

// Error implements error.
func (e *CapturedError) Error() string {
	by := ""
	if e.From != "" {
		by = " by " + e.From
	}
	return fmt.Sprintf("%s was captured%s at %s; it must not be captured twice", e.ID, by, e.At.UTC().Format(time.RFC3339))
}

// noteOf returns a note as the notes of a session have it: two reports that come to the same
// line of the document are the same note. The document holds valid UTF-8 only.
func noteOf(r Report) Note {
	file, change := Text(r.File.ValidUTF8()), Text(r.Change.ValidUTF8())
	if r.Kind == NoteCleanup {
		return Note{Kind: r.Kind, Change: CleanupText(file, change)}
	}
	return Note{Kind: r.Kind, File: file, Change: change}
}

func (n Note) size() int { return len(n.File) + len(n.Change) + entryOverhead }

func (m Message) size(id string) int {
	return len(id) + len(m.To) + len(m.Body) + len(m.Response) + entryOverhead
}

func (c Conflict) size(id string) int {
	size := len(id) + len(c.Reason) + len(c.State) + len(c.Resolution) + entryOverhead
	for _, p := range c.Parties {
		size += len(p)
	}
	return size
}

func (v Value) size(key string) int { return len(key) + len(v.Value) + entryOverhead }
