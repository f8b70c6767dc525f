package main

import (
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
)

// suggestion is a command that the user may type next, without the program's name, and its
// purpose.
type suggestion struct{ command, purpose string }

// writeSuggestions lists commands, each with its purpose.
func writeSuggestions(b *strings.Builder, env *environment, list ...suggestion) {
	for _, s := range list {
		fmt.Fprintf(b, "  %s   %s\n", env.command(s.command), s.purpose)
	}
}

// suggestResume suggests to resume a session. A complete session can't be resumed, except
// to finish a rollback that was cut short. given holds the flags that set variables of the
// pipeline.
func suggestResume(st *state.State, given, purpose string) []suggestion {
	if st == nil || st.Status == state.StatusComplete && st.Rollback == nil {
		return nil
	}
	return []suggestion{{resumeCommand(st.PRD, string(st.Pipeline.Path)) + given, purpose}}
}

// suggestAbandon suggests to abandon a session, unless it is complete.
func suggestAbandon(st *state.State, purpose string) []suggestion {
	if st == nil || st.Status == state.StatusComplete {
		return nil
	}
	return []suggestion{{"abandon " + st.PRD, purpose}}
}

// resumeCommand returns the command that resumes a session.
func resumeCommand(prd, pipeline string) string { return startCommand(prd, pipeline) + " --resume" }

// startCommand returns the command that starts a session. It names the pipeline's file if
// that is not in a usual place. It can't name a pipeline that came through a pipe, which
// no other command can open.
func startCommand(prd, pipeline string) string {
	if slices.Contains([]string{"", prd + ".hcl", "pipelines/" + prd + ".hcl"}, pipeline) || isDescriptor(pipeline) {
		return "build " + prd
	}
	return "build " + prd + " -f " + text.ShellWord(pipeline)
}
