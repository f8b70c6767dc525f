package state

import (
	"time"
)

// FormatVersion is the version of all files that Runner writes to a state directory.
const FormatVersion = "1.5"

// Readable reports whether Runner reads a format version: this one and all earlier ones,
// whose files are valid in this one.
func Readable(version string) bool {
	switch version {
	case "1.0", "1.1", "1.2", "1.3", "1.4", FormatVersion:
		return true
	}
	return false
}

// Commit is a line of the journal: events that became durable together, or,
// in the first line of a compacted journal, the state so far.
type Commit struct {
	Seq    uint64
	Time   time.Time // of the first event
	Events []Event
	// AfterMS is how many milliseconds after Time each event happened; nil
	// when all are 0.
	AfterMS []int64
	State   *State
	Prev    string // the sum of the line before
	Sum     string

	Fields [][]byte // the fields of each event as JSON, if the commit was read from a journal; see package journal
}

// At returns when the i-th event happened.
func (c *Commit) At(i int) time.Time {
	if i < len(c.AfterMS) {
		return c.Time.Add(time.Duration(c.AfterMS[i]) * time.Millisecond)
	}
	return c.Time
}
