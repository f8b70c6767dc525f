package info

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/mask"
	"prdrunner/runner/view"
)

// OutputsReport is what workstreams handed to others, as `outputs --json` prints it.
type OutputsReport struct {
	FormatVersion string              `json:"format_version"`
	PRD           string              `json:"prd"`
	Session       string              `json:"session"`
	Status        state.Status        `json:"status"`
	Workstreams   []WorkstreamOutputs `json:"workstreams"` // those that have some
}

// OutputReport is one value of a workstream.
type OutputReport struct {
	FormatVersion string `json:"format_version"`
	OutputValue
}

// WorkstreamOutputs are the outputs and metrics of a workstream that has succeeded.
type WorkstreamOutputs struct {
	Name     string                 `json:"name"`
	Outputs  map[string]OutputValue `json:"outputs"`
	Metrics  map[string]OutputValue `json:"metrics"`
	Summary  state.Text             `json:"summary,omitempty"`
	Location state.Text             `json:"location,omitempty"`
}

// OutputValue is a value with its type. Outputs are strings; a metric is a number, a bool or a string.
type OutputValue struct {
	Type      string `json:"type"`
	Value     any    `json:"value"`               // nil if it, or a part of it, is sensitive
	Sensitive bool   `json:"sensitive,omitempty"` // the value is not stored as it was
}

// metricPrefix is the beginning of the name of a metric among outputs, as in RUNNER_OUTPUT.
const metricPrefix = "metric."

// NewOutputsReport returns the outputs of the workstreams that a function chooses, in the order of the
// pipeline; instances of one block are ordered by their keys.
func NewOutputsReport(st *state.State, chosen func(workstream string) bool) OutputsReport {
	r := OutputsReport{FormatVersion: FormatVersion, PRD: st.PRD, Session: st.Session, Status: st.Status, Workstreams: []WorkstreamOutputs{}}
	for _, p := range st.Phases {
		for _, w := range InOrder(p.Workstreams) {
			if !chosen(w.Name) || !hasResult(w) {
				continue
			}
			if o := OutputsOf(st, w); len(o.Outputs)+len(o.Metrics) > 0 || o.Summary != "" || o.Location != "" {
				r.Workstreams = append(r.Workstreams, o)
			}
		}
	}
	return r
}

// OutputsOf returns the outputs and metrics of a workstream.
func OutputsOf(st *state.State, w *state.Workstream) WorkstreamOutputs {
	o := WorkstreamOutputs{Name: w.Name, Outputs: map[string]OutputValue{}, Metrics: map[string]OutputValue{}, Summary: w.Summary, Location: w.Location}
	for name, value := range w.Outputs {
		o.Outputs[name] = outputValue("string", value)
	}
	for _, name := range w.Metrics {
		if m, has := st.Metrics[name]; has && m.Workstream == w.Name { // otherwise a later workstream has set it
			o.Metrics[name] = outputValue(typeOf(m.Value), m.Value)
		}
	}
	return o
}

// outputValue returns a value as it is on record. A value with a masked part is not what the
// workstream set, so it is marked as sensitive and left out.
func outputValue(kind string, value any) OutputValue {
	v := OutputValue{Type: kind, Value: value}
	if strings.Contains(v.String(), mask.Replacement) {
		v.Value, v.Sensitive = nil, true
	}
	return v
}

func typeOf(v any) string {
	switch v.(type) {
	case json.Number, float64:
		return "number"
	case bool:
		return "bool"
	}
	return "string"
}

// ShownValue returns a value that is on record in one line.
func ShownValue(value any) string { return outputValue(typeOf(value), value).Shown() }

// Names returns the names of the outputs, and then those of the metrics as in RUNNER_OUTPUT, in natural order.
func (o WorkstreamOutputs) Names() []string {
	names := slices.SortedFunc(maps.Keys(o.Outputs), view.CompareNatural)
	for _, name := range slices.SortedFunc(maps.Keys(o.Metrics), view.CompareNatural) {
		names = append(names, metricPrefix+name)
	}
	return names
}

// Value returns an output, or the metric NAME for metric.NAME.
func (o WorkstreamOutputs) Value(name string) (v OutputValue, has bool) {
	if v, has = o.Outputs[name]; has {
		return v, true
	}
	if metric, is := strings.CutPrefix(name, metricPrefix); is {
		v, has = o.Metrics[metric]
	}
	return v, has
}

// String returns the value as people and scripts write it.
func (v OutputValue) String() string {
	if text, is := v.Value.(state.Text); is {
		return string(text)
	}
	return fmt.Sprint(v.Value)
}
