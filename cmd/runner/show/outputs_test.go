package show_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
)

func TestOutputs(t *testing.T) {
	t.Parallel()
	instance := func(name string) *state.Workstream {
		return &state.Workstream{Name: name, Status: state.Completed, Outputs: map[string]state.Text{"url": "http://" + state.Text(strings.Trim(name, `servic[]"`))}}
	}
	st := &state.State{
		Session: "s-1", PRD: "PRD-009", Status: state.StatusFailed,
		Metrics: map[string]state.Metric{
			"coverage": {Value: json.Number("84.50"), Workstream: "tests"}, "stable": {Value: true, Workstream: "tests"}, "grade": {Value: "a", Workstream: "later"},
			"login": {Value: "as ***", Workstream: "tests"},
		},
		Phases: []*state.Phase{{Name: "one", Workstreams: []*state.Workstream{
			{Name: "version", Status: state.Completed, Summary: "tagged", Outputs: map[string]state.Text{
				"number": "1.4", "notes": "one\ntwo \x1b[2J", "token": "***", "header": "token=***", "none": "", "bytes": "\xff",
			}},
			{Name: "tests", Status: state.Succeeded, Metrics: []string{"coverage", "stable", "grade", "login"}},
			{Name: "silent", Status: state.Completed},
			{Name: "again", Status: state.Pending, Outputs: map[string]state.Text{"old": "value"}},
			instance(`service["10"]`), instance(`service["2"]`), instance(`service["1"]`),
		}}},
	}
	all := info.NewOutputsReport(st, func(string) bool { return true })
	one := info.NewOutputsReport(st, func(name string) bool { return name == `service["2"]` })
	compareAnswers(t, "outputs.txt", []answer{
		{"all", func(w io.Writer) error { return show.Outputs(w, all) }},
		asJSON("all", all),
		{"one", func(w io.Writer) error { return show.Outputs(w, one) }},
		{"none", func(w io.Writer) error {
			return show.Outputs(w, info.NewOutputsReport(st, func(string) bool { return false }))
		}},
	})
}
