//go:build unix

package runner_test

import (
	"encoding/json"
	"slices"

	"prdrunner/runner/plan"
)

// A history is data: a pipeline, and a list of acts.

// history is a pipeline and the acts on it. It is plain data, so that a history that
// found a bug can be kept as a file.
type history struct {
	Parallel int         `json:"parallel"`
	Budget   histBudget  `json:"budget,omitzero"`
	Review   *histReview `json:"review,omitempty"`
	Phases   []histPhase `json:"phases"`
	Acts     []act       `json:"acts"`
}

type histPhase struct {
	Works    []histWork `json:"works"`
	Gates    []histGate `json:"gates,omitempty"`
	Budget   histBudget `json:"budget,omitzero"`
	RunOn    string     `json:"run_on,omitempty"`    // "": succeeded
	FailFast string     `json:"fail_fast,omitempty"` // "": true
	Repeat   int        `json:"repeat,omitempty"`    // how many iterations there may be; 0: the phase does not repeat
	Until    string     `json:"until,omitempty"`     // the workstream whose output says whether to repeat
}

// histWork is a workstream. Its artifact and output are a function of its inputs.
type histWork struct {
	Name     string     `json:"name"`
	On       []string   `json:"on,omitempty"`
	RunOn    string     `json:"run_on,omitempty"`    // "": succeeded
	Sources  []string   `json:"sources,omitempty"`   // source files that the workstream reads
	Reads    bool       `json:"reads,omitempty"`     // the workstream also reads the artifacts of the workstreams in On
	Uses     string     `json:"uses,omitempty"`      // the workstream whose output is in its definition
	Sees     string     `json:"sees,omitempty"`      // the workstream whose status is in its definition
	Makes    bool       `json:"makes,omitempty"`     // the workstream makes an artifact
	Effect   string     `json:"effect,omitempty"`    // "": idempotent
	Attempts int        `json:"attempts,omitempty"`  // 0: one
	Rerun    bool       `json:"rerun,omitempty"`     // on_gate_failure
	Gates    []histGate `json:"gates,omitempty"`     // the gates of the workstream itself
	Limited  bool       `json:"limited,omitempty"`   // the workstream has a timeout
	Verify   bool       `json:"verify,omitempty"`    // the workstream has a verify command
	Vars     []string   `json:"vars,omitempty"`      // the variables in its environment
	Toggled  bool       `json:"toggled,omitempty"`   // no expression refers to the result, so that the workstream can be switched off
	Permits  bool       `json:"permits,omitempty"`   // allow_failure
	FailFast string     `json:"fail_fast,omitempty"` // "": as the phase says
	Counts   bool       `json:"counts,omitempty"`    // the result depends on the number of the iteration
	Tells    []string   `json:"tells,omitempty"`     // what an attempt reports, a line each
	Listens  bool       `json:"listens,omitempty"`   // the workstream waits until each report is on record
	Pace     int        `json:"pace,omitempty"`      // the time between two reports, in milliseconds
	Bills    bool       `json:"bills,omitempty"`     // the outputs say what an attempt has spent
}

// histGate is a gate. If Inputs is empty, the gate judges the files that its workstreams
// declare.
type histGate struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Inputs []string `json:"inputs,omitempty"`
	Pause  bool     `json:"pause,omitempty"` // stop for a review when the gate has passed
	Of     string   `json:"of,omitempty"`    // the workstream whose metric or output a metric or condition gate judges
}

// act is one action on a session. If it chooses among several things, such as
// checkpoints, Pick modulo their number says which one.
type act struct {
	Do   string `json:"do"`
	Pick int    `json:"pick,omitempty"`
	Text string `json:"text,omitempty"`
	Kill int    `json:"kill,omitempty"` // of a build or a rollback: the process dies at the nth operation that writes

	// Of a build:
	KeepGoing bool              `json:"keep_going,omitempty"`
	Fresh     bool              `json:"fresh,omitempty"`
	Conflict  plan.OnConflict   `json:"conflict,omitempty"`
	Select    plan.Selection    `json:"select,omitzero"`
	Fails     map[string]int    `json:"fails,omitempty"`     // how often a workstream fails before it succeeds
	Hangs     []string          `json:"hangs,omitempty"`     // workstreams that exceed their timeout
	Verify    map[string]int    `json:"verify,omitempty"`    // exit codes of verify commands; default 2
	PauseAll  bool              `json:"pause_all,omitempty"` // stop for review after every gate
	Pause     int               `json:"pause,omitempty"`     // a pause is requested while the nth task runs
	Rejects   []string          `json:"rejects,omitempty"`   // gates whose command fails
	Answers   map[string]string `json:"answers,omitempty"`   // the answers at the terminal; nil: there is no terminal
	Interrupt int               `json:"interrupt,omitempty"` // a signal comes while the nth task runs
	Dies      int               `json:"dies,omitempty"`      // the process dies while the nth task runs
	Lingers   bool              `json:"lingers,omitempty"`   // the process does not die, but can no longer write to its disk
	DiesIn    string            `json:"dies_in,omitempty"`   // the process dies while this workstream reports
	After     int               `json:"after,omitempty"`     // that workstream has reported so many lines before
	Finds     []string          `json:"finds,omitempty"`     // the severities of what the review finds
	Raise     bool              `json:"raise,omitempty"`     // used up budgets count anew
}

func (a act) String() string {
	text, err := json.Marshal(a)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

const (
	kindCommand   = "command"
	kindCondition = "condition"
	kindMetric    = "metric"
	kindApproval  = "approval"
)

// sources are the files that the user edits.
var sources = []string{"src/i0", "src/i1", "src/i2"} //nolint:gochecknoglobals // a constant, if lists could be

// variables are the variables that a workstream may use. The value says how often the
// variable was changed.
var variables = []string{"plain", "token"} //nolint:gochecknoglobals // a constant, if lists could be

// label returns the label of a gate.
func (g histGate) label(owner string) string { return g.Name + " (" + owner + ")" }

func (w histWork) artifact() string { return "out/" + w.Name }

func (h *history) works() []*histWork {
	var all []*histWork
	for p := range h.Phases {
		for i := range h.Phases[p].Works {
			all = append(all, &h.Phases[p].Works[i])
		}
	}
	return all
}

// inputs returns the files that a workstream reads.
func (h *history) inputs(w histWork) []string {
	inputs := slices.Clone(w.Sources)
	if !w.Reads {
		return inputs
	}
	for _, up := range h.works() {
		if slices.Contains(w.On, up.Name) && up.Makes {
			inputs = append(inputs, up.artifact())
		}
	}
	return inputs
}
