// Package safety makes safety checkpoints: copies of named files, state keys and databases
// from before something changes them, which can be restored.
//
// A safety checkpoint is a directory safety/chk_… in the state directory. Its record,
// checkpoint.json, names what was copied; the bytes of files are objects or, for a
// git_stash, in git. FORMAT.md in the directory of package checkpoint describes the
// record. Begin with Store: Create makes a checkpoint and verifies it, PlanRestore says
// what a restore would change, and Restore carries that out.
//
// How files are found, kept and restored is for package workspace to say, and what git is
// told for package workspace/git; databases are for package savepoint. This package takes no locks and knows no sessions: its
// callers hold the lock of the state directory, and read and set the keys of a session.
package safety

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/checkpoint/workspace/git"
)

// Type is how a safety checkpoint keeps what it copies.
type Type string

// The types.
const (
	GitStash          Type = "git_stash"          // files, as a commit in the form of git stash, with the index
	FileBackup        Type = "file_backup"        // files, as objects
	StateSnapshot     Type = "state_snapshot"     // keys of a session's state
	DatabaseSavepoint Type = "database_savepoint" // databases, as dumps or as copies on their server
)

// Types returns every type.
func Types() []Type { return []Type{GitStash, FileBackup, StateSnapshot, DatabaseSavepoint} }

// Checkpoint is the record of a safety checkpoint.
type Checkpoint struct {
	ID        string      `json:"id"`
	Type      Type        `json:"type"` // of the files, if there are any
	CreatedAt time.Time   `json:"created_at"`
	ExpiresAt *time.Time  `json:"expires_at,omitempty"` // nil: never
	By        state.Actor `json:"by"`
	Reason    state.Text  `json:"reason,omitempty"`
	Undoes    string      `json:"undoes,omitempty"` // the checkpoint whose restore this one can undo

	Files     *Files     `json:"files,omitempty"`
	Keys      *Keys      `json:"state,omitempty"`
	Databases *Databases `json:"databases,omitempty"`

	Hash   string  `json:"hash"` // of everything that was copied, see hashOf
	Checks []Check `json:"checks"`
	// Assumptions are what the checkpoint relies on and does not verify, and what it does not
	// restore, as texts for people.
	Assumptions []state.Text `json:"assumptions,omitempty"`
	Restores    []Restore    `json:"restores,omitempty"` // finished ones, oldest first
}

// Files are the files of a checkpoint.
type Files struct {
	// Capture holds the files that match the patterns of its listing.
	workspace.Capture
	Scope     []state.Text `json:"scope"`               // the globs as they were given
	InGit     bool         `json:"in_git,omitempty"`    // git keeps the bytes of those that it knows
	Sensitive bool         `json:"sensitive,omitempty"` // sensitive files were copied, too
	Git       *Git         `json:"git,omitempty"`       // of a git_stash
}

// Git is what a git_stash knows besides the files.
type Git struct {
	Head   string     `json:"head"`             // the commit that HEAD named
	Branch state.Text `json:"branch,omitempty"` // "": HEAD was detached
	Ref    string     `json:"ref"`              // keeps the commits
	git.Stashed
	StagedPaths    int `json:"staged_paths"`    // paths at which the index differed from HEAD
	UntrackedFiles int `json:"untracked_files"` // files that git did not track
}

// Keys are the keys of a session's state. A key without a value was not set.
type Keys struct {
	PRD     string                   `json:"prd"`
	Session string                   `json:"session"`
	Values  map[string]*ledger.Value `json:"values"`
}

// Unset returns the keys that were not set, sorted.
func (k *Keys) Unset() []string {
	var unset []string
	for _, key := range slices.Sorted(maps.Keys(k.Values)) {
		if k.Values[key] == nil {
			unset = append(unset, key)
		}
	}
	return unset
}

// Restore is a finished restore.
type Restore struct {
	At        time.Time   `json:"at"`
	By        state.Actor `json:"by"`
	Undo      string      `json:"undo,omitempty"` // the checkpoint from before it
	Written   int         `json:"written"`
	Deleted   int         `json:"deleted"`
	Keys      int         `json:"keys,omitempty"`
	Databases []string    `json:"databases,omitempty"` // the names of their savepoint blocks
}

// Expired reports whether a checkpoint may be removed at a time.
func (c *Checkpoint) Expired(now time.Time) bool {
	return c.ExpiresAt != nil && !now.Before(*c.ExpiresAt)
}

// idPrefix begins the ID of every safety checkpoint.
const idPrefix = "chk_"

// newID returns a new ID, chk_20240115_143022_a7b3c9.
func newID(at time.Time) string {
	var random [3]byte
	_, _ = rand.Read(random[:]) // never fails
	return idPrefix + at.UTC().Format("20060102_150405") + "_" + hex.EncodeToString(random[:])
}

// IsID reports whether a name has the form of an ID.
func IsID(name string) bool {
	rest, ok := strings.CutPrefix(name, idPrefix)
	parts := strings.Split(rest, "_")
	if !ok || len(parts) != 3 || len(parts[0]) != 8 || len(parts[1]) != 6 || len(parts[2]) != 6 {
		return false
	}
	return strings.Trim(parts[0]+parts[1], "0123456789") == "" && strings.Trim(parts[2], "0123456789abcdef") == ""
}

// Summary describes what a checkpoint copied, for people.
func (c *Checkpoint) Summary() string {
	var parts []string
	if f := c.Files; f != nil {
		parts = append(parts, count(f.Files, "file")+", "+count(int(f.Bytes), "byte"))
		if g := f.Git; g != nil && g.StagedPaths > 0 {
			parts = append(parts, fmt.Sprintf("what is staged at %s", count(g.StagedPaths, "path")))
		}
	}
	if c.Databases != nil {
		parts = append(parts, c.Databases.describe())
	}
	if c.Keys != nil {
		names := slices.Sorted(maps.Keys(c.Keys.Values))
		for i, key := range names {
			if c.Keys.Values[key] == nil {
				names[i] += " (not set)"
			}
		}
		parts = append(parts, fmt.Sprintf("%s of %s: %s", count(len(names), "key"), c.Keys.PRD, strings.Join(names, ", ")))
	}
	return strings.Join(parts, "; ")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// NotFoundError says that no checkpoint has a name.
type NotFoundError struct{ Name string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("there is no safety checkpoint %q", e.Name)
}

// AmbiguousError says that a name is the beginning of several IDs.
type AmbiguousError struct {
	Name string
	IDs  []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q may be any of %s", e.Name, strings.Join(e.IDs, ", "))
}

// Expired returns the checkpoints that may be removed at a time.
func Expired(all []*Checkpoint, now time.Time) []*Checkpoint {
	var expired []*Checkpoint
	for _, c := range all {
		if c.Expired(now) {
			expired = append(expired, c)
		}
	}
	return expired
}
