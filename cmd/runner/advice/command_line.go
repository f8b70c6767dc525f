package advice

import (
	"path/filepath"
	"strings"

	"prdrunner/checkpoint/text"
)

// StandardStream stands for standard input or output on a command line, instead of a file.
const StandardStream = "-"

// CommandLine knows how the user reaches a workspace. It writes commands and paths for
// messages as the user would type them.
type CommandLine struct {
	Workdir    string // the workspace; absolute
	DirFlag    string // the value of -C
	ConfigFlag string // the value of --config
}

// Display returns the short form of a path for messages: a path inside the workspace
// becomes relative to it.
func (cmdline CommandLine) Display(path string) string {
	rel, err := filepath.Rel(cmdline.Workdir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return rel
}

// Command returns a command line that the user can type for this workspace: it repeats the
// -C and --config of this command line.
func (cmdline CommandLine) Command(rest string) string {
	prefix := "runner "
	if cmdline.DirFlag != "" && cmdline.DirFlag != "." {
		prefix += "-C " + text.ShellWord(cmdline.DirFlag) + " "
	}
	if cmdline.ConfigFlag != "" {
		prefix += "--config " + text.ShellWord(cmdline.ConfigFlag) + " "
	}
	return prefix + rest
}

// Localize adapts the commands in a text, which are between backquotes, to this workspace.
func (cmdline CommandLine) Localize(text string) string {
	prefix := cmdline.Command("")
	if strings.Contains(text, "`"+prefix) && prefix != "runner " {
		return text // the commands are already adapted
	}
	return strings.ReplaceAll(text, "`runner ", "`"+prefix)
}
