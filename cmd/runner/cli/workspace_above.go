package cli

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/config"
)

// WorksHere annotates the commands init and import. They may start a workspace in the
// directory in which the user typed them, and so do not look for a workspace above it.
const WorksHere = "works-here"

// findAbove makes the nearest workspace above the current directory the workspace, as git
// does, if the current directory is not a workspace itself. Paths on the command line
// remain relative to the directory in which the user typed them.
func (e *Environment) findAbove(cmd *cobra.Command) {
	if cmd.Flags().Changed("directory") || cmd.Annotations[WorksHere] != "" {
		return
	}
	found := e.workspaceAbove(e.Workdir)
	if found == e.Workdir {
		return
	}
	above, err := filepath.Rel(e.Workdir, found)
	if err != nil {
		return
	}
	e.TypedIn, e.Workdir, e.DirFlag = e.Workdir, found, above
	cmd.Flags().VisitAll(e.takeAlong)
}

// BesideFile returns an environment like that of Aside, for the workspace of a file.
func (e *Environment) BesideFile(path string, w io.Writer) *Environment {
	dir := filepath.Dir(path)
	if filepath.Base(dir) == "pipelines" { // it holds the pipelines of the workspace above it
		dir = filepath.Dir(dir)
	}
	beside := e.Aside(w)
	beside.Workdir, beside.DirFlag, beside.TypedIn = e.workspaceAbove(dir), "", ""
	return beside
}

// Around returns the workspace above this directory, "" if there is none or the directory is one itself.
func (e *Environment) Around() string {
	if found := e.workspaceAbove(e.Workdir); found != e.Workdir {
		return found
	}
	return ""
}

// takeAlong makes the files that a flag names relative to the workspace.
func (e *Environment) takeAlong(flag *pflag.Flag) {
	if placeholder, _ := pflag.UnquoteUsage(flag); placeholder != "FILE" || !flag.Changed {
		return
	}
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		names := list.GetSlice()
		for i, name := range names {
			names[i] = e.FromWorkspace(name)
		}
		_ = list.Replace(names) // a list of strings accepts every string
		return
	}
	_ = flag.Value.Set(e.FromWorkspace(flag.Value.String()))
}

// FromWorkspace returns a file or directory of the command line relative to the workspace.
func (e *Environment) FromWorkspace(name string) string {
	if e.TypedIn == "" || name == "" || name == advice.StandardStream || filepath.IsAbs(name) {
		return name
	}
	if rel, err := filepath.Rel(e.Workdir, filepath.Join(e.TypedIn, name)); err == nil {
		return rel
	}
	return name
}

// workspaceAbove returns the nearest directory, from the given one upwards, that a state
// directory, a configuration or a pipeline marks as a workspace. If it finds none, it
// returns the given directory. The search ends at the root of a git work tree. It also
// ends below a directory that everyone may write to or that belongs to a user other than
// root and the current user, because the files in it decide which commands run.
func (e *Environment) workspaceAbove(from string) string {
	ids := e.markingIDs()
	for dir := from; ; {
		if marksWorkspace(dir, ids) {
			return dir
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return from
		}
		above := filepath.Dir(dir)
		if above == dir {
			return from
		}
		if info, err := os.Stat(above); err != nil || !trustedAbove(info) {
			return from
		}
		dir = above
	}
}

// markingIDs returns the pattern for the names of pipelines. The configuration file has
// not been read yet, so its id_pattern is unknown, but that file marks the workspace
// itself.
func (e *Environment) markingIDs() *regexp.Regexp {
	pattern := e.Lookup("PRDRUNNER_ID_PATTERN")
	if pattern == "" {
		pattern = config.DefaultIDPattern
	}
	ids, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return nil // LoadConfig reports the mistake
	}
	return ids
}

// marksWorkspace reports whether a directory holds something that only a workspace has.
func marksWorkspace(dir string, ids *regexp.Regexp) bool {
	if slices.ContainsFunc(config.Extensions(), func(ext string) bool { return isFile(filepath.Join(dir, "runner"+ext)) }) {
		return true
	}
	if info, err := os.Lstat(filepath.Join(dir, config.DefaultLocation, "locks")); err == nil && info.IsDir() {
		return true
	}
	return ids != nil && (holdsPipeline(dir, ids) || holdsPipeline(filepath.Join(dir, "pipelines"), ids))
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func holdsPipeline(dir string, ids *regexp.Regexp) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(entry fs.DirEntry) bool {
		prd, isPipeline := strings.CutSuffix(entry.Name(), config.PipelineExtension)
		return isPipeline && !entry.IsDir() && ids.MatchString(prd)
	})
}
