package stream

import (
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
)

// Attempt is an attempt at a step, which writes a log.
type Attempt struct {
	Step   string // the name of the workstream, the label of the gate, service.NAME, or review
	Log    string // the name of the step's logs
	Number int    // of the log
}

// Begins returns the attempt that begins with an event.
func Begins(e state.Event) (a Attempt, ok bool) {
	switch e := e.(type) {
	case state.WorkstreamStarted:
		return Attempt{e.Workstream, e.Workstream, e.Attempt}, true
	case state.GateStarted:
		return Attempt{e.Gate, disk.GateLog(e.Gate), e.Attempt}, true
	case state.ReviewStarted:
		return Attempt{"review", runner.ReviewLog, e.Run}, true
	case state.ServiceStarted:
		log := disk.ServiceLog(e.Service)
		return Attempt{log, log, e.Attempt}, true
	}
	return Attempt{}, false
}

// Ends returns the name of the logs of the step of which an attempt ends with an event, "" if none
// does.
func Ends(e state.Event) string {
	switch e := e.(type) {
	case state.WorkstreamAttemptFailed:
		return e.Workstream
	case state.WorkstreamSucceeded:
		return e.Workstream
	case state.WorkstreamCompleted:
		return e.Workstream
	case state.WorkstreamFailed:
		return e.Workstream
	case state.WorkstreamInterrupted:
		return e.Workstream
	case state.WorkstreamUncertain:
		return e.Workstream
	case state.GatePassed:
		return disk.GateLog(e.Gate)
	case state.GateFailed:
		return disk.GateLog(e.Gate)
	case state.GateVoided:
		return disk.GateLog(e.Gate)
	case state.ReviewJudged, state.ReviewFailed, state.ReviewInterrupted:
		return runner.ReviewLog
	case state.ServiceEnded:
		return disk.ServiceLog(e.Service)
	}
	return ""
}
