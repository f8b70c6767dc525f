package show

import (
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/rollback"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
	"prdrunner/runner/view"
)

// restoreScript is a shell script that restores files. Before the script changes
// anything, it has saved everything that it replaces or removes, and fetched everything
// that it writes.
type restoreScript struct {
	b                   strings.Builder
	objects             *objects.Store
	changes             []workspace.Change
	sources             []string        // for each change, the command that writes the new bytes to standard output; "" if there are none
	written             map[string]bool // the paths that the script writes
	holds               map[string]bool // the directories above those paths
	ignoreRulesRestored bool            // the script has restored the .gitignore files
}

// RollbackScript prints shell commands that restore the files, for users who can't or do
// not want to let Runner do it.
func RollbackScript(w io.Writer, workdir string, stored *objects.Store, prd string, plan *rollback.Plan) error {
	heading := []string{"Restores the files of " + plan.Target.ID + " by hand."}
	if plan.Finish != nil {
		heading = append(heading, editedLines(plan.Finish.Edited)...)
	}
	m := newRestoreScript(stored, heading, plan.Changes, plan.Obstacles, plan.Missing)
	m.writeLine("set -eu\ncd -- %s", text.ShellWord(workdir))
	if len(m.changes) > 0 {
		m.prepare()
		m.remove(plan.ChangesIgnored())
		m.writeFiles()
	}
	switch {
	case plan.Finish != nil: // the rollback that was cut short must be finished before the state changes
		m.writeLine("# then what was cut short, and the state:\nrunner checkpoint rollback %s %s --yes", prd, plan.Target.ID)
	case plan.Earlier != nil: // the state of the checkpoint is newer than these files
		m.writeLine("# then the state:\nrunner checkpoint rollback %s %s --yes", prd, plan.Target.ID)
	case plan.Scope != state.RollbackFiles:
		m.writeLine("# then the state:\nrunner checkpoint rollback %s %s --state-only --yes", prd, plan.Target.ID)
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}

func (m *restoreScript) writeLine(format string, args ...any) {
	fmt.Fprintf(&m.b, format+"\n", args...)
}

// newRestoreScript returns a script of the changes that can be made. It begins with the
// heading, and with the names of the files that it does not restore.
func newRestoreScript(stored *objects.Store, heading []string, changes []workspace.Change, obstacles []workspace.Obstacle, missing []workspace.Missing) *restoreScript {
	m := &restoreScript{objects: stored, written: map[string]bool{}, holds: map[string]bool{}}
	for _, line := range heading {
		m.writeLine("# %s", line)
	}
	m.choose(changes, obstacles, missing)
	return m
}

// choose takes the changes that can be made, and names the files of the others.
func (m *restoreScript) choose(changes []workspace.Change, obstacles []workspace.Obstacle, missing []workspace.Missing) {
	out := map[string]bool{}
	leave := func(path, reason string) {
		if !out[path] {
			m.writeLine("# %s is left out: %s", view.OneLine(path), view.OneLine(reason))
		}
		out[path] = true
	}
	for _, o := range obstacles {
		leave(o.Path, o.Reason)
	}
	for _, lost := range missing {
		leave(lost.Path, lost.Reason)
	}
	for _, c := range changes {
		source, err := m.source(c)
		if err != nil {
			leave(c.Path, err.Error())
		}
		if out[c.Path] {
			continue
		}
		m.changes, m.sources = append(m.changes, c), append(m.sources, source)
		if c.To != nil {
			m.written[c.Path] = true
			for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
				m.holds[dir] = true
			}
		}
	}
}

// source returns the command that writes the new bytes of a change to standard output.
func (m *restoreScript) source(c workspace.Change) (string, error) {
	if c.To == nil || c.To.IsDir() || onlyMode(c) {
		return "", nil
	}
	if c.To.Blob != "" {
		return "git cat-file blob " + c.To.Blob, nil
	}
	file, compressed, err := m.objects.Path(c.To.Digest)
	if err == nil {
		file, err = filepath.Abs(file)
	}
	if compressed {
		return "zstd -dc -- " + text.ShellWord(file), err
	}
	return "cat -- " + text.ShellWord(file), err
}

// onlyMode reports whether a change affects only the permissions.
func onlyMode(c workspace.Change) bool {
	return c.From != nil && c.To != nil && c.From.Digest == c.To.Digest && c.From.Mode&^0o777 == c.To.Mode&^0o777 && !c.To.IsSymlink()
}

// prepare saves the files that are replaced or removed, and fetches the new bytes.
func (m *restoreScript) prepare() {
	m.writeLine("backup=${BACKUP:-$(mktemp -d)}\nmkdir -p -- \"$backup\"\necho \"What is replaced or removed is kept in $backup\"")
	m.writeLine("new=$(mktemp -d)\ntrap 'rm -rf -- \"$new\"' EXIT")
	for _, c := range m.changes {
		if c.From == nil || c.From.IsDir() {
			continue
		}
		if dir := path.Dir(c.Path); dir != "." {
			m.writeLine("mkdir -p -- \"$backup\"/%s", text.ShellWord(dir))
		}
		m.writeLine("cp -pP -- %s \"$backup\"/%s", m.quotedName(c.Path), text.ShellWord(c.Path))
	}
	for i, source := range m.sources {
		if source != "" {
			m.writeLine("%s > \"$new\"/%d", source, i)
		}
	}
}

// quotedName returns a path as an argument that no command takes for an option or for
// standard input.
func (m *restoreScript) quotedName(path string) string { return text.ShellWord("./" + path) }

// remove removes the files that change or go, and the directories that become empty. If
// ignores is set, it keeps files that the restored .gitignore files ignore.
func (m *restoreScript) remove(ignores bool) {
	dirs := map[string]bool{}
	for _, c := range m.changes {
		name := m.quotedName(c.Path)
		switch {
		case c.From == nil || onlyMode(c) || m.ignoreRulesRestored && isIgnoreRule(c):
			continue
		case c.From.IsDir():
			dirs[c.Path] = true
		case c.To == nil && ignores && !m.holds[c.Path]:
			m.ignoreRules()
			m.writeLine("git check-ignore -q -- %s || rm -f -- %s", name, name)
		default:
			m.writeLine("rm -f -- %s", name)
		}
		for dir := path.Dir(c.Path); c.To == nil && dir != "."; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	all := make([]string, 0, len(dirs))
	for dir := range dirs {
		all = append(all, dir)
	}
	slices.Sort(all)
	for _, dir := range slices.Backward(all) { // a directory's subdirectories come before it
		switch name := m.quotedName(dir); {
		case m.written[dir]:
			m.writeLine("find %s -depth -type d -exec rmdir -- {} +", name) // it may hold empty directories
		case !m.holds[dir]:
			m.writeLine("rmdir -- %s 2>/dev/null || :", name)
		}
	}
}

func isIgnoreRule(c workspace.Change) bool {
	return path.Base(c.Path) == ".gitignore" && (c.From == nil || !c.From.IsDir())
}

// ignoreRules restores the .gitignore files whose directories stay, so that git applies
// them. It restores those of a directory before those below it, which the upper ones may
// ignore.
func (m *restoreScript) ignoreRules() {
	if m.ignoreRulesRestored {
		return
	}
	m.ignoreRulesRestored = true
	var rules []int
	for i, c := range m.changes {
		if isIgnoreRule(c) {
			rules = append(rules, i)
		}
	}
	depth := func(i int) int { return strings.Count(m.changes[i].Path, "/") }
	slices.SortStableFunc(rules, func(a, b int) int { return depth(a) - depth(b) })
	for _, i := range rules {
		c := m.changes[i]
		name := m.quotedName(c.Path)
		switch {
		case c.To == nil && depth(i) > depth(rules[0]):
			m.writeLine("git check-ignore -q -- %s || rm -f -- %s", name, name)
		case c.To == nil, c.To.IsSymlink():
			m.writeLine("rm -f -- %s", name)
		case m.sources[i] != "":
			m.writeLine("[ ! -d %[1]s ] || { rm -f -- %[2]s; cp -- \"$new\"/%[3]d %[2]s; }", m.quotedName(path.Dir(c.Path)), name, i)
		}
	}
}

// writeFiles writes the new files.
func (m *restoreScript) writeFiles() {
	for i, c := range m.changes {
		if c.To == nil {
			continue
		}
		name := m.quotedName(c.Path)
		if dir := path.Dir(c.Path); dir != "." {
			m.writeLine("mkdir -p -- %s", m.quotedName(dir))
		}
		switch {
		case c.To.IsDir():
			m.writeLine("mkdir -p -- %s", name)
		case c.To.IsSymlink():
			m.writeLine("target=$(cat -- \"$new\"/%d; echo .)\nln -s -- \"${target%%.}\" %s", i, name) // $() would take newlines off
			continue
		case m.sources[i] != "":
			m.writeLine("cp -- \"$new\"/%d %s", i, name)
		}
		m.writeLine("chmod %o -- %s", c.To.Mode&0o777, name)
	}
}
