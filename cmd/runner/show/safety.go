package show

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

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
	PlainCommands  []state.Text `json:"plain_commands"` // restore the files without Runner, run in this order in the workspace; empty if that takes more than a few
	Expiry         *time.Time   `json:"expiry"`         // null: never
}

type safetyScope struct {
	Patterns  []state.Text `json:"patterns"`
	Files     []state.Text `json:"files"`
	StateKeys []string     `json:"state_keys"`
}

type preMutationState struct {
	Hash    string `json:"hash"`
	Summary string `json:"summary"`
}

// SafetyPlace is where a safety checkpoint is.
type SafetyPlace struct {
	CommandLine advice.CommandLine
	Store       *safety.Store
	Objects     *objects.Store
}

// NewSafetyCreatedReport returns the JSON form of a safety checkpoint. created says that
// it was made just now. l is the list of its files, nil if it has none.
func NewSafetyCreatedReport(at SafetyPlace, c *safety.Checkpoint, l *workspace.Listing, assumptions []string, created bool) SafetyCreatedReport {
	r := SafetyCreatedReport{
		FormatVersion: FormatVersion, CheckpointCreated: created,
		Checkpoint: safetyCheckpoint{
			ID: c.ID, Type: c.Type, CreatedAt: c.CreatedAt, Reason: c.Reason, Expiry: c.ExpiresAt,
			Scope:          safetyScope{Patterns: []state.Text{}, Files: []state.Text{}, StateKeys: []string{}},
			RestoreCommand: at.CommandLine.Command("safety restore " + c.ID + " --yes"),
			Prerequisites:  []string{"no run is under way in the workspace"}, PlainCommands: []state.Text{},
		},
		PreMutationState: preMutationState{Hash: c.Hash, Summary: c.Summary()},
		NextSafeActions:  []string{},
		Confidence:       c.Confidence(), Checks: append([]safety.Check{}, c.Checks...),
		Assumptions: state.Texts(assumptions), LeftOut: []state.Text{}, Restores: append([]safety.Restore{}, c.Restores...),
	}
	r.EvidenceAnchors = []string{
		"file:" + at.CommandLine.Display(at.Store.RecordPath(c.ID)), "tool:bash:" + at.CommandLine.Command("safety verify "+c.ID),
	}
	if c.Keys != nil {
		r.addKeys(c.Keys)
	}
	if l != nil {
		r.addFiles(at, c, l)
	}
	r.NextSafeActions = append(r.NextSafeActions, fmt.Sprintf("verify the change, then `%s`, or `%s`",
		at.CommandLine.Command("safety delete "+c.ID), r.Checkpoint.RestoreCommand))
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
	cp.Scope.Patterns, r.LeftOut = c.Files.Scope, state.Texts(l.LeftOut)
	for _, e := range l.Entries {
		cp.Scope.Files = append(cp.Scope.Files, state.Text(e.Path))
	}
	cp.RestoreOrder = append(cp.RestoreOrder, "files")
	r.NextSafeActions = append(r.NextSafeActions, "change, add and remove files that match "+view.OneLine(text.Enumerate(c.Files.Scope)))
	if g := c.Files.Git; g != nil {
		cp.Prerequisites = append(cp.Prerequisites, "git is installed")
		cp.RestoreOrder = append(cp.RestoreOrder, "git's index")
		r.EvidenceAnchors = append(r.EvidenceAnchors, "tool:bash:git stash show --include-untracked "+g.Commit)
		r.Assumptions = append(r.Assumptions, state.Text("nobody deletes the git reference "+g.Ref))
	}
	cp.PlainCommands = append(cp.PlainCommands, plainCommands(at, c, l)...)
	for _, path := range l.Special {
		r.Assumptions = append(r.Assumptions, state.Text("not copied: "+path))
	}
}

// mostPlain is the number of files up to which the commands that restore each are shown.
const mostPlain = 20

// plainCommands returns shell commands that restore the files of a checkpoint without
// Runner; none if they would be many.
func plainCommands(at SafetyPlace, c *safety.Checkpoint, l *workspace.Listing) []state.Text {
	var commands []state.Text
	if g := c.Files.Git; g != nil {
		specs := gitPathspecs(l.Patterns)
		for _, part := range []struct{ commit, how string }{{g.Commit, "--worktree -- " + specs}, {g.Index, "--staged -- " + specs}, {g.Untracked, "--overlay --worktree -- ."}} {
			if part.commit != "" {
				commands = append(commands, state.Text("git restore --source="+part.commit+" "+part.how))
			}
		}
		return commands
	}
	if len(l.Entries) > mostPlain {
		return nil
	}
	for i := range l.Entries {
		e := &l.Entries[i]
		file, compressed, err := at.Objects.Path(e.Digest)
		name := text.ShellWord("./" + e.Path)
		switch {
		case isDirectory(e):
			commands = append(commands, state.Text("mkdir -p -- "+name))
		case err != nil || compressed || isSymlink(e):
			return nil
		default:
			commands = append(commands, state.Text(fmt.Sprintf("install -D -m %o -- %s %s", e.Mode&0o777, text.ShellWord(at.CommandLine.Display(file)), name)))
		}
	}
	return commands
}

// gitPathspecs returns globs of Runner as git's.
func gitPathspecs(patterns []string) string {
	specs := make([]string, len(patterns))
	for i, pattern := range patterns {
		specs[i] = text.ShellWord(":(glob)" + pattern)
	}
	return strings.Join(specs, " ")
}

// YAML writes a report as YAML, with the fields and the order of its JSON form.
func YAML(w io.Writer, v any) error {
	var object bytes.Buffer
	if err := JSON(&object, v); err != nil {
		return err
	}
	var node yaml.Node // every JSON text is YAML
	if err := yaml.Unmarshal(object.Bytes(), &node); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	inBlocks(&node)
	enc := yaml.NewEncoder(w)
	const indent = 2
	enc.SetIndent(indent)
	if err := enc.Encode(&node); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	return enc.Close()
}

// inBlocks takes from the nodes the style in which JSON is written.
func inBlocks(n *yaml.Node) {
	n.Style &^= yaml.FlowStyle
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		n.Style = 0
	}
	for _, child := range n.Content {
		inBlocks(child)
	}
}

// SafetyCreated shows a new safety checkpoint.
func SafetyCreated(w io.Writer, r SafetyCreatedReport) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Created: %s\n", r.Checkpoint.ID)
	writeSafety(&b, r)
	fmt.Fprintf(&b, "\nRestore it with: %s\n", r.Checkpoint.RestoreCommand)
	_, err := io.WriteString(w, b.String())
	return err
}

// Safety shows a safety checkpoint.
func Safety(w io.Writer, r SafetyCreatedReport) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Checkpoint.ID)
	writeSafety(&b, r)
	if len(r.Checkpoint.Scope.Files) > 0 {
		b.WriteString("\nFiles:\n")
		for _, path := range r.Checkpoint.Scope.Files {
			fmt.Fprintf(&b, "  %s\n", view.OneLine(string(path)))
		}
	}
	for _, key := range r.Checkpoint.Scope.StateKeys {
		fmt.Fprintf(&b, "  key %s\n", key)
	}
	for _, done := range r.Restores {
		fmt.Fprintf(&b, "\nRestored: %s, %s written, %s deleted\n", done.At.UTC().Format(time.DateTime), view.Plural(done.Written, "file"), view.Plural(done.Deleted, "file"))
		if done.Undo != "" {
			fmt.Fprintf(&b, "  %s has what was there before\n", done.Undo)
		}
	}
	fmt.Fprintf(&b, "\nRestore: %s\n", r.Checkpoint.RestoreCommand)
	for i, command := range r.Checkpoint.PlainCommands {
		if i == 0 {
			b.WriteString("\nWithout Runner, in the workspace:\n")
		}
		fmt.Fprintf(&b, "  %s\n", view.OneLine(string(command)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeSafety(b *strings.Builder, r SafetyCreatedReport) {
	c := r.Checkpoint
	fmt.Fprintf(b, "  Type:       %s\n", c.Type)
	if c.Reason != "" {
		fmt.Fprintf(b, "  Reason:     %s\n", view.OneLine(string(c.Reason)))
	}
	fmt.Fprintf(b, "  Holds:      %s\n", view.OneLine(r.PreMutationState.Summary))
	fmt.Fprintf(b, "  Hash:       %s\n", r.PreMutationState.Hash)
	fmt.Fprintf(b, "  Expires:    %s\n", expiry(c.Expiry))
	fmt.Fprintf(b, "  Confidence: %.2f\n", r.Confidence)
	for _, check := range r.Checks {
		if check.Share < 1 {
			fmt.Fprintf(b, "    - %s: %s\n", check.Name, view.OneLine(string(check.Detail)))
		}
	}
	for _, a := range r.Assumptions {
		fmt.Fprintf(b, "  Assumes:    %s\n", view.OneLine(string(a)))
	}
	for _, path := range r.LeftOut {
		fmt.Fprintf(b, "  Left out, since it looks sensitive: %s\n", view.OneLine(string(path)))
	}
}

func expiry(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return at.UTC().Format(time.DateTime) + " UTC"
}

// SafetyListReport is what `safety list --json` prints.
type SafetyListReport struct {
	FormatVersion string           `json:"format_version"`
	Checkpoints   []safetyListItem `json:"checkpoints"` // oldest first
	Damaged       []safetyDamaged  `json:"damaged"`
}

type safetyListItem struct {
	ID        string      `json:"id"`
	Type      safety.Type `json:"type"`
	CreatedAt time.Time   `json:"created_at"`
	Expiry    *time.Time  `json:"expiry"`
	Expired   bool        `json:"expired"`
	Reason    state.Text  `json:"reason,omitempty"`
	Summary   string      `json:"summary"`
	Undoes    string      `json:"undoes,omitempty"`
	Restored  int         `json:"restored"`  // how often
	Restoring bool        `json:"restoring"` // a restore was interrupted
}

type safetyDamaged struct {
	ID    string     `json:"id"`
	Error state.Text `json:"error"`
}

// NewSafetyListReport returns the JSON form of a list of safety checkpoints.
func NewSafetyListReport(all []*safety.Checkpoint, unread []safety.Unread, restoring map[string]bool, now time.Time) SafetyListReport {
	r := SafetyListReport{FormatVersion: FormatVersion, Checkpoints: []safetyListItem{}, Damaged: []safetyDamaged{}}
	for _, c := range all {
		r.Checkpoints = append(r.Checkpoints, safetyListItem{
			ID: c.ID, Type: c.Type, CreatedAt: c.CreatedAt, Expiry: c.ExpiresAt, Expired: c.Expired(now), Reason: c.Reason,
			Summary: c.Summary(), Undoes: c.Undoes, Restored: len(c.Restores), Restoring: restoring[c.ID],
		})
	}
	for _, u := range unread {
		r.Damaged = append(r.Damaged, safetyDamaged{u.ID, state.Text(u.Err.Error())})
	}
	return r
}

// SafetyList shows a list of safety checkpoints.
func SafetyList(w io.Writer, cmdline advice.CommandLine, r SafetyListReport) error {
	var b strings.Builder
	if len(r.Checkpoints)+len(r.Damaged) == 0 {
		b.WriteString("There are no safety checkpoints\n")
	}
	for _, c := range r.Checkpoints {
		fmt.Fprintf(&b, "%s  %-11s  %s", c.ID, c.Type, view.OneLine(c.Summary))
		switch {
		case c.Expired:
			b.WriteString("  expired")
		case c.Expiry != nil:
			b.WriteString("  expires " + expiry(c.Expiry))
		}
		if c.Undoes != "" {
			b.WriteString("  before " + c.Undoes + " was restored")
		} else if c.Reason != "" {
			b.WriteString("  " + view.OneLine(string(c.Reason)))
		}
		b.WriteString("\n")
		if c.Restoring {
			fmt.Fprintf(&b, "  its restore was interrupted; `%s` completes it\n", cmdline.Command("safety restore "+c.ID+" --yes"))
		}
	}
	for _, d := range r.Damaged {
		fmt.Fprintf(&b, "%s  damaged: %s\n", d.ID, view.OneLine(string(d.Error)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// SafetyVerifyReport is what `safety verify --json` prints.
type SafetyVerifyReport struct {
	FormatVersion string        `json:"format_version"`
	Checkpoint    string        `json:"checkpoint"`
	OK            bool          `json:"ok"`
	Contents      int           `json:"contents"` // how many were read
	Missing       []fileProblem `json:"missing"`
	Hash          string        `json:"hash"`
	HashOK        bool          `json:"hash_ok"`
}

// NewSafetyVerifyReport returns the JSON form of a verification.
func NewSafetyVerifyReport(c *safety.Checkpoint, v *safety.Verified) SafetyVerifyReport {
	r := SafetyVerifyReport{
		FormatVersion: FormatVersion, Checkpoint: c.ID, OK: v.OK(), Contents: v.Contents, Missing: []fileProblem{}, Hash: c.Hash, HashOK: v.HashOK,
	}
	for _, m := range v.Missing {
		r.Missing = append(r.Missing, fileProblem{state.Text(m.Path), state.Text(m.Reason)})
	}
	return r
}

// SafetyVerified shows a verification.
func SafetyVerified(w io.Writer, r SafetyVerifyReport) error {
	var b strings.Builder
	for _, m := range r.Missing {
		fmt.Fprintf(&b, "✗ %s: %s\n", view.OneLine(string(m.Path)), view.OneLine(string(m.Reason)))
	}
	switch {
	case r.OK:
		fmt.Fprintf(&b, "✓ %s is whole: %s read, hash %s\n", r.Checkpoint, view.Plural(r.Contents, "content"), r.Hash)
	case !r.HashOK && len(r.Missing) == 0:
		fmt.Fprintf(&b, "✗ %s: what it holds does not have the recorded hash %s\n", r.Checkpoint, r.Hash)
	default:
		fmt.Fprintf(&b, "✗ %s can't be restored\n", r.Checkpoint)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// SafetyRestoreReport is what `safety restore --json` prints.
type SafetyRestoreReport struct {
	FormatVersion string        `json:"format_version"`
	Checkpoint    string        `json:"checkpoint"`
	DryRun        bool          `json:"dry_run"`
	Files         []fileChange  `json:"files"`
	Index         []state.Text  `json:"index"` // paths whose entries in git's index change
	Keys          []keyEdit     `json:"state_keys"`
	Newer         []fileProblem `json:"newer"`   // newer work that is overwritten, only by force
	Missing       []fileProblem `json:"missing"` // files whose bytes are lost or damaged
	Blocked       []fileProblem `json:"blocked"` // files that can't be changed because of an obstacle
	Undo          string        `json:"undo,omitempty"`
}

type keyEdit struct {
	Key  string      `json:"key"`
	From *state.Text `json:"from"` // null: not set
	To   *state.Text `json:"to"`
}

// NewSafetyRestoreReport returns the JSON form of a restore. done is nil for a dry run.
func NewSafetyRestoreReport(p *safety.RestorePlan, done *safety.Restore) SafetyRestoreReport {
	r := SafetyRestoreReport{
		FormatVersion: FormatVersion, Checkpoint: p.ID, DryRun: done == nil, Files: []fileChange{}, Index: []state.Text{}, Keys: []keyEdit{},
		Newer: []fileProblem{}, Missing: []fileProblem{}, Blocked: []fileProblem{},
	}
	if done != nil {
		r.Undo = done.Undo
	}
	for _, c := range p.Changes {
		r.Files = append(r.Files, fileChange{state.Text(c.Path), c.Kind})
	}
	for _, e := range p.Index {
		r.Index = append(r.Index, state.Text(e.Path))
	}
	for _, e := range p.KeyEdits {
		edit := keyEdit{Key: e.Name}
		if e.From != nil {
			edit.From = (*state.Text)(&e.From.Value)
		}
		if e.To != nil {
			edit.To = (*state.Text)(&e.To.Value)
		}
		r.Keys = append(r.Keys, edit)
	}
	for _, n := range p.Newer {
		r.Newer = append(r.Newer, fileProblem{state.Text(n.Path), state.Text(n.Why)})
	}
	for _, m := range p.Missing {
		r.Missing = append(r.Missing, fileProblem{state.Text(m.Path), state.Text(m.Reason)})
	}
	for _, o := range p.Obstacles {
		r.Blocked = append(r.Blocked, fileProblem{state.Text(o.Path), state.Text(o.Reason)})
	}
	return r
}

// SafetyRestorePreview shows what a restore would change.
func SafetyRestorePreview(w io.Writer, r SafetyRestoreReport) error {
	var b strings.Builder
	const most = 20
	fmt.Fprintf(&b, "Restoring %s:\n", r.Checkpoint)
	if len(r.Files)+len(r.Index)+len(r.Keys) == 0 {
		b.WriteString("  changes nothing: everything is as it was\n")
	}
	for i, c := range r.Files {
		if i == most {
			fmt.Fprintf(&b, "  … and %s more\n", view.Plural(len(r.Files)-most, "file"))
			break
		}
		fmt.Fprintf(&b, "  %s %s\n", changeMark(c.Kind), view.OneLine(string(c.Path)))
	}
	if len(r.Index) > 0 {
		fmt.Fprintf(&b, "  ~ git's index, at %s\n", someFiles(r.Index))
	}
	for _, k := range r.Keys {
		fmt.Fprintf(&b, "  ~ key %s\n", k.Key)
	}
	writeProblemLines(&b, "! newer work:", r.Newer)
	writeProblemLines(&b, "✗ cannot restore", r.Missing)
	writeProblemLines(&b, "✗ cannot change", r.Blocked)
	_, err := io.WriteString(w, b.String())
	return err
}

func writeProblemLines(b *strings.Builder, what string, all []fileProblem) {
	for _, p := range all {
		fmt.Fprintf(b, "  %s %s: %s\n", what, view.OneLine(string(p.Path)), view.OneLine(string(p.Reason)))
	}
}

// SafetyRestored shows what a restore did.
func SafetyRestored(w io.Writer, cmdline advice.CommandLine, id string, done *safety.Restore) error {
	if done == nil {
		_, err := fmt.Fprintf(w, "Nothing to restore: everything is as %s has it\n", id)
		return err
	}
	_, err := fmt.Fprintf(w, "Restored: %s, %s written, %s deleted\n", id, view.Plural(done.Written, "file"), view.Plural(done.Deleted, "file"))
	if err == nil && done.Undo != "" {
		_, err = fmt.Fprintf(w, "Undo it with: %s\n", cmdline.Command("safety restore "+done.Undo+" --yes"))
	}
	return err
}

// SafetyRemovedReport is what `safety delete --json` and `safety prune --json` print.
type SafetyRemovedReport struct {
	FormatVersion string           `json:"format_version"`
	DryRun        bool             `json:"dry_run"`
	Removed       []safetyListItem `json:"removed"`
	Unfinished    []string         `json:"unfinished"` // what interrupted commands had left
	Kept          int              `json:"kept"`
}

// NewSafetyRemovedReport returns the JSON form of a removal.
func NewSafetyRemovedReport(removed []*safety.Checkpoint, unfinished []string, kept int, dryRun bool, now time.Time) SafetyRemovedReport {
	return SafetyRemovedReport{
		FormatVersion: FormatVersion, DryRun: dryRun, Removed: NewSafetyListReport(removed, nil, nil, now).Checkpoints,
		Unfinished: append([]string{}, unfinished...), Kept: kept,
	}
}

// SafetyRemoved shows a removal.
func SafetyRemoved(w io.Writer, r SafetyRemovedReport) error {
	var b strings.Builder
	word := "Removed"
	if r.DryRun {
		word = "Would remove"
	}
	for _, c := range r.Removed {
		fmt.Fprintf(&b, "%s: %s, %s\n", word, c.ID, view.OneLine(c.Summary))
	}
	for _, id := range r.Unfinished {
		fmt.Fprintf(&b, "%s: %s, which was never finished\n", word, id)
	}
	if b.Len() == 0 {
		fmt.Fprintf(&b, "Nothing to remove; %s kept\n", view.Plural(r.Kept, "safety checkpoint"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// SafetyScript prints shell commands that restore the files of a safety checkpoint
// without Runner.
func SafetyScript(w io.Writer, workdir string, stored *objects.Store, p *safety.RestorePlan) error {
	m := newRestoreScript(stored, []string{"Restores the files of " + p.ID + " by hand."}, p.Changes, p.Obstacles, p.Missing)
	m.writeLine("set -eu\ncd -- %s", text.ShellWord(workdir))
	if len(m.changes) > 0 {
		m.prepare()
		m.remove(false)
		m.writeFiles()
	}
	if len(p.Index) > 0 {
		m.writeLine("git restore --source=%s --staged -- %s", p.Files.Git.Index, gitPathspecs(p.Listing.Patterns))
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}
