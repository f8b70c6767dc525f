package main

import (
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/text"
)

// suggestion is a command that a person may type next, as it stands after the
// name of the program, and what it does.
type suggestion struct{ command, purpose string }

// writeSuggestions lists commands with what they do.
func writeSuggestions(b *strings.Builder, env *environment, list ...suggestion) {
	for _, s := range list {
		fmt.Fprintf(b, "  %s   %s\n", env.command(s.command), s.purpose)
	}
}

// suggestResume suggests to go on with a session. With one that is complete
// there is nothing to go on with, but to finish a rollback that was cut short. Given
// are the flags that gave the pipeline its variables.
func suggestResume(st *checkpoint.State, given, purpose string) []suggestion {
	if st == nil || st.Status == checkpoint.StatusComplete && st.Rollback == nil {
		return nil
	}
	return []suggestion{{resumeCommand(st.PRD, string(st.Pipeline.Path)) + given, purpose}}
}

// suggestAbandon suggests to give a session up, which only an unfinished one
// can be.
func suggestAbandon(st *checkpoint.State, purpose string) []suggestion {
	if st == nil || st.Status == checkpoint.StatusComplete {
		return nil
	}
	return []suggestion{{"abandon " + st.PRD, purpose}}
}

// resumeCommand goes on with a session.
func resumeCommand(prd, pipeline string) string { return startCommand(prd, pipeline) + " --resume" }

// startCommand begins a session. A pipeline that is in no usual place is named, but for
// one that came through a pipe, whose name no other command can open.
func startCommand(prd, pipeline string) string {
	if slices.Contains([]string{"", prd + ".hcl", "pipelines/" + prd + ".hcl"}, pipeline) || isDescriptor(pipeline) {
		return "build " + prd
	}
	return "build " + prd + " -f " + text.ShellWord(pipeline)
}
