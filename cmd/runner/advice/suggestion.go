package advice

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
)

// Suggestion is a command that the user may type next, without the program's name, and its
// purpose.
type Suggestion struct{ Command, Purpose string }

// Suggest returns a suggestion.
func Suggest(command, purpose string) Suggestion {
	return Suggestion{Command: command, Purpose: purpose}
}

// WriteSuggestions lists commands, each with its purpose.
func WriteSuggestions(b io.Writer, cmdline CommandLine, list ...Suggestion) {
	for _, s := range list {
		fmt.Fprintf(b, "  %s   %s\n", cmdline.Command(s.Command), s.Purpose)
	}
}

// Resume suggests to resume a session. A complete session can't be resumed, except
// to finish a rollback that was cut short. given holds the flags that set variables of the
// pipeline.
func Resume(st *state.State, given, purpose string) []Suggestion {
	if st == nil || st.Status == state.StatusComplete && st.Rollback == nil {
		return nil
	}
	return []Suggestion{{ResumeSession(st, given), purpose}}
}

// Abandon suggests to abandon a session, unless it is complete.
func Abandon(st *state.State, purpose string) []Suggestion {
	if st == nil || st.Status == state.StatusComplete {
		return nil
	}
	return []Suggestion{{"abandon " + st.PRD, purpose}}
}

// ResumeCommand returns the command that resumes a session.
func ResumeCommand(prd, pipeline string) string { return StartCommand(prd, pipeline) + " --resume" }

// ResumeSession returns the command that resumes a session. given holds the flags that set
// variables of its pipeline. A called pipeline is resumed with the first of its callers.
func ResumeSession(st *state.State, given string) string {
	if c := st.Caller; c != nil {
		return ResumeCommand(c.Root, string(c.File))
	}
	return ResumeCommand(st.PRD, string(st.Pipeline.Path)) + given
}

// StartCommand returns the command that starts a session. It names the pipeline's file if
// that is not in a usual place. It can't name a pipeline that came through a pipe, which
// no other command can open.
func StartCommand(prd, pipeline string) string {
	if slices.Contains([]string{"", prd + ".hcl", "pipelines/" + prd + ".hcl"}, pipeline) || IsDescriptor(pipeline) {
		return "build " + prd
	}
	return "build " + prd + " -f " + text.ShellWord(pipeline)
}

// Untrusted returns the commands that deal with state that git tracks. Only a current
// session can be adopted.
func Untrusted(untrusted *checkpoint.UntrustedError) string {
	fresh := fmt.Sprintf("`runner build %s --fresh` sets it aside and starts over", untrusted.PRD)
	if !untrusted.Current {
		return fresh
	}
	return fmt.Sprintf("`runner checkpoint import --adopt %s` takes it over: its approvals are asked for again and its gates judged again; %s", untrusted.PRD, fresh)
}

// Damaged returns the commands that can follow when a checkpoint is damaged.
func Damaged(st *state.State, id string, last *state.CheckpointRef) []Suggestion {
	commands := []Suggestion{{"checkpoint rebuild " + st.PRD + " " + id, "repair it from the journal, git and the workspace"}}
	if last != nil {
		commands = append(commands, Suggestion{"checkpoint rollback " + st.PRD + " " + last.ID, "roll back to the last valid one"})
	}
	commands = append(commands, Suggestion{"checkpoint delete " + st.PRD + " " + id, "delete it"})
	return append(commands, Resume(st, "", "resume; the checkpoint cannot be restored")...)
}

// ImportAgain returns the command that finishes an import that was cut short.
func ImportAgain(p *disk.PendingImport) string {
	archive := "FILE"
	if p.Archive != "" && p.Archive != StandardStream {
		archive = text.ShellWord(string(p.Archive))
	}
	if p.Overwrite {
		archive += " --overwrite"
	}
	return "`runner checkpoint import " + archive + "`"
}

// IsDescriptor reports whether a path names a descriptor of the process that opens it.
func IsDescriptor(path string) bool {
	dir := filepath.Dir(path)
	return dir == "/dev/fd" || dir == "/proc/self/fd"
}

// InputFlags returns the flags for the inputs that an approval must give, with a
// placeholder for each value.
func InputFlags(asked []state.AskedInput) string {
	var flags strings.Builder
	for _, in := range asked {
		if in.Default == nil {
			flags.WriteString(" --input " + text.ShellWord(in.Name+"="+in.Placeholder()))
		}
	}
	return flags.String()
}
