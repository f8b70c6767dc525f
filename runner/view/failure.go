package view

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
)

// printFailed prints the failure of a workstream, which may be allowed.
func (v *plain) printFailed(e state.WorkstreamFailed, took string) {
	if e.Allowed {
		v.printHead(v.page.Paint(Yellow, "!"), v.titled(e.Workstream)+" failed, which is allowed", took)
		v.printDetails(v.titled(e.Workstream), e.Error)
		return
	}
	v.printFailure(v.titled(e.Workstream), took, e.Error)
}

// printFailure prints a failure: its message, its location, the path of the log, and the end of
// the log unless the reader has seen it.
func (v *plain) printFailure(what, took string, f state.Failure) {
	v.printHead(v.page.Paint(Red, "✗"), what+" failed", took)
	v.printDetails(what, f)
}

func (v *plain) printHead(mark Painted, what, took string) {
	if took != "" {
		what += " after " + took
	}
	v.page.Line("  %s %s", mark, v.page.Paint(Bold, what))
}

func (v *plain) printDetails(what string, f state.Failure) {
	if f.Gate != "" && v.failureShown[f.Gate] && !strings.HasPrefix(what, f.Gate) {
		v.page.Line("      %s did not pass", f.Gate)
		return
	}
	for line := range strings.Lines(strings.TrimRight(string(f.Message), "\n")) {
		v.page.Line("      %s", line)
	}
	if at := location(f); at != "" {
		v.page.Line("      at %s", v.page.Paint(Bold, strings.TrimSuffix(at, ": ")))
	}
	switch log := string(f.Log); log {
	case "":
	case v.streamed[FailedStep(f)]:
		v.page.Line("      log: %s", filepath.Join(v.logs.Name, log))
	default:
		v.printTail(log)
	}
}

// printTail prints the end of a log. Where the log of a CI system can fold, it prints everything
// that LogEnd returns, and folds all but the last lines.
func (v *plain) printTail(log string) {
	text, err := LogEnd(filepath.Join(v.logs.Dir, log), EndBytes)
	if err != nil {
		v.page.Line("      %s", err.Error())
		return
	}
	earlier, last := splitTail(text)
	if len(last) == 0 {
		if v.logs.Carried {
			return
		}
		v.page.Line("      it printed nothing")
		return
	}
	v.page.Line("      log: %s", filepath.Join(v.logs.Name, log))
	if v.markup == nil {
		v.printExcerpt(cutLines(last))
		return
	}
	v.printFolded("the output before these lines: ", log, earlier, true)
	v.printExcerpt(last)
}

// printExcerpt prints lines of a log.
func (v *plain) printExcerpt(lines []string) {
	for _, line := range lines {
		v.page.Line("      %s %s", v.page.Paint(Dim, "│"), line)
	}
}

// location returns "file:line:column: ", or "" if it is unknown.
func location(f state.Failure) string {
	if at := Location(f); at != "" {
		return at + ": "
	}
	return ""
}

// Location returns the place of a failure, as file:line:column, or "" if it is unknown.
func Location(f state.Failure) string {
	if f.File == "" {
		return ""
	}
	s := string(f.File)
	if f.Line > 0 {
		s += fmt.Sprintf(":%d", f.Line)
	}
	if f.Line > 0 && f.Column > 0 {
		s += fmt.Sprintf(":%d", f.Column)
	}
	return s
}

// FailedStep returns the gate, or else the workstream, that failed; "" if neither did.
func FailedStep(f state.Failure) string { return cmp.Or(f.Gate, f.Workstream) }

// FileBelow returns the file of a failure relative to a directory that the workspace is below,
// slash-separated. An absolute path stays as it is.
func FileBelow(dir string, f state.Failure) string {
	if filepath.IsAbs(string(f.File)) {
		return string(f.File)
	}
	return path.Join(dir, filepath.ToSlash(string(f.File)))
}

// maxSummary bounds the columns of a failure in one line, without its step. Below the step, the whole message stands.
const maxSummary = 400

// Summary returns a failure in one line: WS3: file:45: message.
func Summary(f state.Failure) string {
	who := FailedStep(f)
	s := cut(location(f)+OneLine(string(f.Message)), maxSummary)
	if who == "" {
		return s
	}
	return who + ": " + s
}

func (v *plain) printEnd(e runner.Ending) {
	v.closeStream()
	v.page.WriteByte('\n')
	took := v.page.Paint(Dim, Duration(e.Duration))
	switch {
	case e.Status == state.StatusComplete:
		v.page.Line("%s %s  %s", v.page.Paint(Green, "✓"), v.page.Paint(Bold, v.prd+" complete"), took)
		for _, f := range e.Allowed {
			v.page.Line("  failed, which is allowed: %s", Summary(f))
		}
	case e.Status == state.StatusFailed:
		v.printEndFailed(e, took)
	case e.Signal != "":
		v.page.Line("%s %s  %s", v.page.Paint(Yellow, "!"), v.page.Paint(Bold, v.prd+" interrupted by "+e.Signal), took)
		v.printFailures(e)
		if e.Pause != nil {
			v.page.Line("  %s", Waits(*e.Pause))
		}
	case e.Done():
		v.page.Line("%s %s  %s", v.page.Paint(Green, "✓"), v.page.Paint(Bold, v.prd+": what was chosen is done"), took)
		v.page.Line("  %s", Waits(*e.Pause))
	case e.Status == state.StatusPaused:
		v.page.Line("%s %s  %s", v.page.Paint(Yellow, "!"), v.page.Paint(Bold, v.prd+" paused"), took)
		v.printFailures(e)
		if e.Pause != nil {
			v.page.Line("  %s", Waits(*e.Pause))
		}
	default:
		how := " stopped"
		if e.Killed {
			how = " " + string(Killed)
		}
		v.page.Line("%s %s  %s", v.page.Paint(Yellow, "!"), v.page.Paint(Bold, v.prd+how), took)
		v.printFailures(e)
	}
	v.printSums()
	v.annotate(Error, e.Failures())
	v.annotate(Warning, e.Allowed)
	if len(e.Next) > 0 {
		v.page.Printf("\nNext:\n")
	}
	for _, command := range e.Next {
		v.page.Command("  ", string(command))
	}
}

// maxAnnotations is how many annotations of a severity GitHub shows of a step.
const maxAnnotations = 10

// annotate shows failures at their places in the sources, where a CI system can.
func (v *plain) annotate(as Severity, failures []state.Failure) {
	if v.markup == nil {
		return
	}
	for _, f := range failures[:min(len(failures), maxAnnotations)] {
		if line := v.markup.Annotate(as, f); line != "" {
			v.page.WriteString(line + "\n")
		}
	}
}

// printSums prints what the run did with its workstreams, and which took longest.
func (v *plain) printSums() {
	sums := v.sums()
	if sums == "" {
		return
	}
	var slowest []string
	if c := v.progress.Counts(); c.Done+c.Failed+c.Allowed > len(v.progress.Slowest()) {
		for _, took := range v.progress.Slowest() {
			slowest = append(slowest, took.Name+" "+Duration(took.Time))
		}
	}
	if len(slowest) > 0 {
		sums += "; slowest: " + strings.Join(slowest, ", ")
	}
	v.page.Line("  %s", sums)
}

// sums counts what the run did with its workstreams: 3 done, 1 failed, 2 left.
func (v *plain) sums() string {
	c := v.progress.Counts()
	var sums []string
	done := "done"
	if c.Allowed > 0 {
		done += fmt.Sprintf(" (%d failed, %s)", c.Allowed, Allowed)
	}
	for _, count := range []struct {
		n    int
		what string
	}{{c.Done + c.Allowed, done}, {c.Reused, "reused"}, {c.Failed, "failed"}, {c.Skipped, "skipped"}, {c.Total - c.Settled(), "left"}} {
		if count.n > 0 {
			sums = append(sums, fmt.Sprintf("%d %s", count.n, count.what))
		}
	}
	return strings.Join(sums, ", ")
}

func (v *plain) printEndFailed(e runner.Ending, took Painted) {
	v.page.Line("%s %s  %s", v.page.Paint(Red, "✗"), v.page.Paint(Bold, v.prd+" failed"), took)
	v.printFailures(e)
}

// printFailures names what failed in the run, each in a line.
func (v *plain) printFailures(e runner.Ending) {
	for _, f := range e.Failures() {
		v.page.Line("  %s", Summary(f))
	}
}

// Waits returns what a paused session waits for.
func Waits(p state.Pause) string {
	if p.Message != "" {
		return OneLine(string(p.Message))
	}
	var s string
	switch p.Reason {
	case state.PauseApproval:
		s = "waits for approval of " + strings.Join(p.Gates, ", ")
	case state.PauseReview:
		s = "stopped for review after " + strings.Join(p.Gates, ", ")
	case state.PauseRequested:
		s = "a pause was requested"
	case state.PauseTimeout:
		s = "the timeout of the session has passed"
	case state.PauseUncertain:
		s = "nobody knows how these ended: " + strings.Join(p.Steps, ", ")
	case state.PauseCheckpoint:
		s = "a checkpoint could not be written"
	case state.PauseRollback:
		s = "it was rolled back"
	case state.PauseAdopted:
		s = "it was adopted"
	case state.PauseBudget:
		s = "a budget is used up"
	case state.PauseCall:
		s = "a called pipeline is paused"
	case state.PauseChosen:
		s = "only some workstreams were chosen"
	default:
		s = string(p.Reason)
	}
	return s
}
