package info

import (
	"fmt"
	"strings"

	"prdrunner/checkpoint/safety"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/workspace"
)

// mostPlain is the number of files up to which the commands that restore each are shown.
const mostPlain = 20

// plain returns shell commands that restore the files of a checkpoint without Runner. limits
// says what these commands do not restore. If there are no commands, it says why.
func plain(at SafetyPlace, c *safety.Checkpoint, l *workspace.Listing) (commands, limits []state.Text) {
	commands, limits = []state.Text{}, []state.Text{}
	if l != nil {
		commands = append(commands, plainCommands(at, c, l)...)
		switch script := "`" + at.CommandLine.Command("safety restore "+c.ID+" --manual") + "`"; {
		case len(commands) > 0:
			limits = append(limits, "they overwrite whatever is there, also newer work, and keep no copy of it", state.Text("they do not remove files that were created since; "+script+" prints a script that does"))
		case len(l.Entries) > mostPlain:
			limits = append(limits, state.Text(fmt.Sprintf("there are no commands for more than %d files; %s prints a script", mostPlain, script)))
		case len(l.Entries) > 0:
			limits = append(limits, state.Text("there are no commands for links and for compressed contents; "+script+" prints a script"))
		default:
			limits = append(limits, state.Text("there are no files to write back; "+script+" prints a script that removes those created since"))
		}
		if c.Files.Git != nil {
			limits = append(limits, "they restore no empty directories, of the permissions only whether a file is executable, and no files that git does not have")
		}
	}
	if c.Databases != nil {
		limits = append(limits, plainDatabases(at, c.Databases)...)
	}
	if c.Keys != nil {
		limits = append(limits, state.Text("they set no keys; `"+at.CommandLine.Command("state set "+c.Keys.PRD+" KEY VALUE")+"` sets one"))
	}
	return commands, limits
}

// plainCommands returns shell commands that restore the files of a checkpoint without
// Runner; none if they would be many.
func plainCommands(at SafetyPlace, c *safety.Checkpoint, l *workspace.Listing) []state.Text {
	var commands []state.Text
	if g := c.Files.Git; g != nil {
		specs := GitPathspecs(l.Patterns)
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
		case e.IsDir():
			commands = append(commands, state.Text("mkdir -p -- "+name))
		case err != nil || compressed || e.IsSymlink():
			return nil
		default:
			commands = append(commands, state.Text(fmt.Sprintf("install -D -m %o -- %s %s", e.Mode&0o777, text.ShellWord(at.CommandLine.Display(file)), name)))
		}
	}
	return commands
}

// GitPathspecs returns globs of Runner as git's.
func GitPathspecs(patterns []string) string {
	specs := make([]string, len(patterns))
	for i, pattern := range patterns {
		specs[i] = text.ShellWord(":(glob)" + pattern)
	}
	return strings.Join(specs, " ")
}
