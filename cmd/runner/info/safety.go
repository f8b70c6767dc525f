package info

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
)

// SafetyCreatedReport is what `safety create` and `safety show` print with --json and
// --yaml.
type SafetyCreatedReport struct {
	FormatVersion     string           `json:"format_version"`
	CheckpointCreated bool             `json:"checkpoint_created"`
	Checkpoint        safetyCheckpoint `json:"checkpoint"`
	PreMutationState  preMutationState `json:"pre_mutation_state"`
	NextSafeActions   []string         `json:"next_safe_actions"`
	Confidence        float64          `json:"confidence"`
	Checks            []safety.Check   `json:"checks"` // from which the confidence is computed
	EvidenceAnchors   []string         `json:"evidence_anchors"`
	Assumptions       []state.Text     `json:"assumptions"`
	LeftOut           []state.Text     `json:"left_out"` // files in scope that look sensitive
	Unread            []state.Text     `json:"unread"`   // files in scope that could not be read, and what is no file
	Restores          []safety.Restore `json:"restores"` // oldest first
}

type safetyCheckpoint struct {
	ID             string       `json:"id"`
	Type           safety.Type  `json:"type"`
	CreatedAt      time.Time    `json:"created_at"`
	Reason         state.Text   `json:"reason,omitempty"`
	Scope          safetyScope  `json:"scope"`
	RestoreCommand string       `json:"restore_command"`
	Prerequisites  []string     `json:"prerequisites"`  // of the restore command
	RestoreOrder   []string     `json:"restore_order"`  // what the restore command restores, in this order
	PlainCommands  []state.Text `json:"plain_commands"` // restore the files without Runner, run in this order in the workspace
	PlainLimits    []state.Text `json:"plain_limits"`   // what the plain commands do not do, or why there are none
	Expiry         *time.Time   `json:"expiry"`         // null: never
}

type safetyScope struct {
	Patterns  []state.Text     `json:"patterns"`
	Files     []state.Text     `json:"files"`
	StateKeys []string         `json:"state_keys"`
	Databases []safetyDatabase `json:"databases"`
}

type preMutationState struct {
	Hash    string `json:"hash"`
	Summary string `json:"summary"`
}

// SafetyPlace is where a safety checkpoint is.
type SafetyPlace struct {
	CommandLine advice.CommandLine
	Flags       string // with which commands find the databases
	Store       *safety.Store
	Objects     *objects.Store
}

// command returns a command that may need the databases, as the user would type it.
func (at *SafetyPlace) command(words string) string { return at.CommandLine.Command(words + at.Flags) }

// NewSafetyCreatedReport returns the JSON form of a safety checkpoint. created says that
// it was made just now. l is the list of its files, nil if it has none.
func NewSafetyCreatedReport(at SafetyPlace, c *safety.Checkpoint, l *workspace.Listing, created bool) SafetyCreatedReport {
	r := SafetyCreatedReport{
		FormatVersion: FormatVersion, CheckpointCreated: created,
		Checkpoint: safetyCheckpoint{
			ID: c.ID, Type: c.Type, CreatedAt: c.CreatedAt, Reason: c.Reason, Expiry: c.ExpiresAt,
			Scope:          safetyScope{Patterns: []state.Text{}, Files: []state.Text{}, StateKeys: []string{}, Databases: []safetyDatabase{}},
			RestoreCommand: at.command("safety restore " + c.ID + " --yes"),
			Prerequisites:  []string{"no run is under way in the workspace"},
		},
		PreMutationState: preMutationState{Hash: c.Hash, Summary: c.Summary()},
		NextSafeActions:  []string{},
		Confidence:       c.Confidence(), Checks: append([]safety.Check{}, c.Checks...),
		Assumptions: append([]state.Text{}, c.Assumptions...), LeftOut: []state.Text{}, Unread: []state.Text{}, Restores: append([]safety.Restore{}, c.Restores...),
	}
	r.EvidenceAnchors = []string{
		"file:" + at.CommandLine.Display(at.Store.RecordPath(c.ID)), "tool:bash:" + at.command("safety verify "+c.ID),
	}
	if c.Databases != nil {
		r.addDatabases(c.Databases)
	}
	if c.Keys != nil {
		r.addKeys(c.Keys)
	}
	if l != nil {
		r.addFiles(at, c, l)
	}
	r.Checkpoint.PlainCommands, r.Checkpoint.PlainLimits = plain(at, c, l)
	r.NextSafeActions = append(r.NextSafeActions, fmt.Sprintf("verify the change, then `%s`, or `%s`",
		at.command("safety delete "+c.ID), r.Checkpoint.RestoreCommand))
	return r
}

func (r *SafetyCreatedReport) addKeys(keys *safety.Keys) {
	cp := &r.Checkpoint
	cp.Scope.StateKeys = slices.Sorted(maps.Keys(keys.Values))
	cp.Prerequisites = append(cp.Prerequisites, fmt.Sprintf("session %s of %s is the current one", state.ShortSession(keys.Session), keys.PRD))
	cp.RestoreOrder = append(cp.RestoreOrder, "the keys of "+keys.PRD)
	r.NextSafeActions = append(r.NextSafeActions, fmt.Sprintf("set the keys of %s", keys.PRD))
}

func (r *SafetyCreatedReport) addFiles(at SafetyPlace, c *safety.Checkpoint, l *workspace.Listing) {
	cp := &r.Checkpoint
	cp.Scope.Patterns, r.LeftOut, r.Unread = c.Files.Scope, state.Texts(l.LeftOut), state.Texts(slices.Concat(l.Unstable, l.Special))
	for _, e := range l.Entries {
		cp.Scope.Files = append(cp.Scope.Files, state.Text(e.Path))
	}
	cp.RestoreOrder = append(cp.RestoreOrder, "files")
	r.NextSafeActions = append(r.NextSafeActions, "change, add and remove files that match "+view.OneLine(text.Enumerate(c.Files.Scope)))
	if g := c.Files.Git; g != nil {
		cp.Prerequisites = append(cp.Prerequisites, "git is installed")
		cp.RestoreOrder = append(cp.RestoreOrder, "git's index")
		r.EvidenceAnchors = append(r.EvidenceAnchors, "tool:bash:git stash show --include-untracked "+g.Commit)
		r.Assumptions = append(r.Assumptions, state.Text("git keeps the files as long as nobody deletes the reference "+g.Ref))
	}
}
