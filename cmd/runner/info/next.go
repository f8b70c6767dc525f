package info

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/compare"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
)

// DifferenceCommand returns the command that compares the workspace with a checkpoint.
func DifferenceCommand(prd, checkpoint string) string {
	return "checkpoint diff " + prd + " " + checkpoint + " " + compare.PointWorkspace + " --files"
}

// ApproveCommand returns the command that approves a gate.
func ApproveCommand(prd, gate string, asked []state.AskedInput) string {
	return "approve " + prd + " " + text.ShellWord(gate) + advice.InputFlags(asked)
}

// RejectCommand returns the command that rejects a gate.
func RejectCommand(prd, gate string) string {
	return "reject " + prd + " " + text.ShellWord(gate) + " -m REASON"
}

// LogsCommand returns the command that prints the log of a step.
func LogsCommand(prd, step string) string { return "logs " + prd + " " + text.ShellWord(step) }

// CallAgain makes the status of a called pipeline, which is not complete, suggest to call it again.
// Its first caller is complete nevertheless, so that resuming it does nothing by itself.
// workstream is the one of the first caller.
func (s *SessionStatus) CallAgain(cmdline advice.CommandLine, workstream string) {
	resume := state.Text(s.resume(cmdline))
	for i, command := range s.Next {
		if command == resume {
			s.Next[i] += state.Text(" --invalidate " + text.ShellWord(workstream))
		}
	}
}

// resume returns the command that resumes the session. A called pipeline is resumed with the
// first of its callers.
func (s *SessionStatus) resume(cmdline advice.CommandLine) string {
	if c := s.Caller; c != nil {
		return cmdline.Command(advice.ResumeCommand(c.Root, string(c.File)))
	}
	return cmdline.Command(advice.ResumeCommand(s.PRD, s.pipeline)) + s.variableFlags
}

// NextWith returns the commands to type next. given holds the flags that set variables of
// the pipeline.
func (s SessionStatus) NextWith(cmdline advice.CommandLine, now time.Time, given string) []state.Text {
	s.variableFlags = given
	return state.Texts(s.nextCommands(cmdline, now))
}

// nextCommands returns the commands to type next.
func (s SessionStatus) nextCommands(cmdline advice.CommandLine, now time.Time) []string {
	resume := s.resume(cmdline)
	if s.Owner != nil {
		return append(s.answers(cmdline, now), cmdline.Command("watch "+s.PRD), cmdline.Command("logs "+s.PRD+" -f"))
	}
	if r := s.Rollback; r != nil { // both commands finish it, even if the session is complete
		return []string{cmdline.Command(advice.RollbackCommand(s.PRD, r.To, r.Scope)), resume}
	}
	switch s.Status {
	case state.StatusInitialized, state.StatusInProgress, state.StatusPaused:
		if s.Pause != nil && s.Pause.Reason == state.PauseBudget {
			return append(s.logsOfFailures(cmdline), resume+" --raise-budget")
		}
		if s.Pause != nil && slices.ContainsFunc(s.Pause.Calls, func(c state.PausedCall) bool { return c.Budget }) {
			resume += " --raise-budget"
		}
		return s.afterStop(cmdline, now, resume)
	case state.StatusFailed:
		if s.Review.Blocks() {
			return s.afterReview(cmdline, resume)
		}
		if e := s.Error; e != nil && e.Outcome == state.OutcomeNoSession && s.Caller == nil {
			return []string{resume + " --invalidate " + text.ShellWord(e.Workstream)}
		}
		return s.afterStop(cmdline, now, resume)
	case state.StatusComplete:
		return []string{}
	}
	return []string{}
}

// afterStop returns the commands that show what failed, answer what waits, and go on. A run that was
// stopped before its end may have failures, too.
func (s SessionStatus) afterStop(cmdline advice.CommandLine, now time.Time, resume string) []string {
	return append(append(s.logsOfFailures(cmdline), s.answers(cmdline, now)...), resume)
}

// mostLogs is how many logs of failures are named. With more failures, a command that lists all of
// them follows.
const mostLogs = 5

// logsOfFailures returns the commands that show the logs of what failed.
func (s SessionStatus) logsOfFailures(cmdline advice.CommandLine) []string {
	var names []string
	for _, e := range s.Failures() {
		if e.Log != "" && e.Workstream != "" {
			if name := cmp.Or(s.failedService(e), e.Gate, e.Workstream); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	commands := []string{}
	for i, name := range names {
		if i == mostLogs {
			return append(commands, cmdline.Command("status "+s.PRD+" --failed"))
		}
		commands = append(commands, cmdline.Command(LogsCommand(s.PRD, name)))
	}
	return commands
}

// failedService returns the name of the log of the service that something failed with, "" if it
// failed with something else.
func (s SessionStatus) failedService(e *state.Failure) string {
	for _, service := range s.Services {
		log := disk.ServiceLog(service.Name)
		if e.Outcome == state.OutcomeService && strings.HasPrefix(string(e.Log), disk.EncodeName(log)+".") {
			return log
		}
	}
	return ""
}

// afterReview returns the commands that may follow a review that forbids to go on.
func (s SessionStatus) afterReview(cmdline advice.CommandLine, resume string) []string {
	override := cmdline.Command("override " + s.PRD + " review --reason TEXT")
	if s.Review.UsedUp() {
		return []string{override}
	}
	return []string{resume, override}
}

// answers returns the commands that answer waiting gates and resolve uncertain
// workstreams.
func (s SessionStatus) answers(cmdline advice.CommandLine, now time.Time) []string {
	answers := []string{}
	for _, q := range s.Waiting {
		if q.ExpiresAt == nil || q.ExpiresAt.After(now) {
			answers = append(answers, cmdline.Command(ApproveCommand(s.PRD, q.Gate, q.Inputs)))
		}
	}
	if s.Pause != nil {
		answers = append(answers, answersOfCalls(cmdline, s.Pause.Calls)...)
	}
	for _, name := range s.Uncertain {
		resolve := cmdline.Command("resolve " + s.PRD + " " + text.ShellWord(name))
		answers = append(answers, resolve+" --done"+s.variableFlags, resolve+" --rerun")
	}
	return answers
}

// answersOfCalls returns the commands that answer what called pipelines wait for.
func answersOfCalls(cmdline advice.CommandLine, calls []state.PausedCall) []string {
	var commands []string
	for _, call := range calls {
		if len(call.Gates) == 0 && !call.Budget {
			commands = append(commands, cmdline.Command("status "+call.PRD))
		}
		for _, gate := range call.Gates {
			commands = append(commands, cmdline.Command(ApproveCommand(call.PRD, gate, call.Asks[gate])))
		}
	}
	return commands
}
