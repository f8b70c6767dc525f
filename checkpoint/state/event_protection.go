package state

import "prdrunner/checkpoint/ledger"

// The kinds of the events about protected workstreams.
const (
	KindProtectionMade       Kind = "protection.made"
	KindProtectionRolledBack Kind = "protection.rolled_back"
	KindProtectionCommitted  Kind = "protection.committed"
	KindProtectionKept       Kind = "protection.kept"
	KindScopeExceeded        Kind = "scope.exceeded"
)

// ProtectionMade says that a safety checkpoint holds what the next attempt of a workstream
// may change. It is in the commit of WorkstreamStarted.
type ProtectionMade struct {
	Workstream string   `json:"workstream"`
	Attempt    int      `json:"attempt"`
	Checkpoint string   `json:"checkpoint"`           // the ID of the safety checkpoint
	Again      bool     `json:"again,omitempty"`      // it is the one of an earlier attempt, whose changes were rolled back
	Files      int      `json:"files"`                // how many files it holds
	Savepoints []string `json:"savepoints,omitempty"` // the names of the databases that it holds
	Keys       []string `json:"keys,omitempty"`       // the keys of the state that it holds
	Keep       bool     `json:"keep,omitempty"`       // the changes are kept if the workstream fails
	Delete     bool     `json:"delete,omitempty"`     // the checkpoint is deleted when the changes are committed
}

// ProtectionRolledBack says that what a workstream changed is again as its safety
// checkpoint has it. It takes back the work of the workstream, if that was done.
type ProtectionRolledBack struct {
	Workstream string   `json:"workstream"`
	Attempt    int      `json:"attempt"` // the last one, whose changes were rolled back
	Checkpoint string   `json:"checkpoint"`
	Reason     Text     `json:"reason"`
	Written    int      `json:"written"`           // files
	Deleted    int      `json:"deleted"`           // files
	Removed    []Text   `json:"removed,omitempty"` // the first of the files that were deleted
	Savepoints []string `json:"savepoints,omitempty"`
	// Keys are the values of keys that were set again; nil: the key is not set.
	Keys map[string]*ledger.Value `json:"keys,omitempty"`
	Left string                   `json:"left,omitempty"` // the safety checkpoint with the files as the attempt left them
}

// ProtectionCommitted says that a workstream and its gates have passed, so that its
// changes are no longer rolled back.
type ProtectionCommitted struct {
	Workstream string `json:"workstream"`
	Checkpoint string `json:"checkpoint"`
}

// ProtectionKept says that the changes of a workstream are not rolled back although it did
// not pass.
type ProtectionKept struct {
	Workstream string `json:"workstream"`
	Checkpoint string `json:"checkpoint"`
	Reason     Text   `json:"reason"`
}

// ScopeExceeded lists files outside the scope of a protected workstream that changed while
// an attempt at it ran.
type ScopeExceeded struct {
	Workstream string `json:"workstream"`
	Attempt    int    `json:"attempt"`
	Paths      []Text `json:"paths"`          // the first of them
	More       int    `json:"more,omitempty"` // how many others there are
}

// Kind implements Event.
func (ProtectionMade) Kind() Kind { return KindProtectionMade }

// Kind implements Event.
func (ProtectionRolledBack) Kind() Kind { return KindProtectionRolledBack }

// Kind implements Event.
func (ProtectionCommitted) Kind() Kind { return KindProtectionCommitted }

// Kind implements Event.
func (ProtectionKept) Kind() Kind { return KindProtectionKept }

// Kind implements Event.
func (ScopeExceeded) Kind() Kind { return KindScopeExceeded }
