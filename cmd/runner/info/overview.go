package info

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"prdrunner/checkpoint/history"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline/graph"
	"prdrunner/runner/why"
)

// Overview is everything that is known of the current session of a PRD, for a page about it.
type Overview struct {
	Now         time.Time
	Status      SessionStatus
	State       *state.State
	Variables   map[string]string // that were given to the last run, as JSON; without secret ones
	Timeline    history.Timeline
	Graph       *graph.Graph
	Checkpoints ListReport
	Outputs     OutputsReport
	History     HistoryReport
	Metrics     []MetricTrend
	Failures    []FailedStep
	Reasons     map[string]*why.Run // why each workstream and gate ran last, by name or label
	Critical    []string            // the workstreams that decided how long the session took, the first one first
}

// FailedStep is a failure with the end of the log that shows it.
type FailedStep struct {
	state.Failure
	Log string // the last lines; "": there is none
}

// MetricTrend is a metric over the sessions of a PRD.
type MetricTrend struct {
	Name   string
	Points []MetricPoint // the oldest first
}

// MetricPoint is a metric in one session.
type MetricPoint struct {
	Session string
	At      time.Time // when the session began
	Value   OutputValue
	Number  float64 // NaN if the value is none
}

// NewMetricTrends returns the metrics of sessions, the oldest first, in the order in which the sessions have set them.
func NewMetricTrends(sessions []PastSession) []MetricTrend {
	index := map[string]int{}
	var trends []MetricTrend
	for _, past := range sessions {
		if past.State == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(past.State.Metrics)) {
			i, known := index[name]
			if !known {
				i = len(trends)
				index[name] = i
				trends = append(trends, MetricTrend{Name: name})
			}
			trends[i].Points = append(trends[i].Points, newMetricPoint(past.State, past.State.Metrics[name].Value))
		}
	}
	return trends
}

func newMetricPoint(st *state.State, value any) MetricPoint {
	p := MetricPoint{Session: st.Session, At: st.CreatedAt, Value: outputValue(typeOf(value), value), Number: math.NaN()}
	switch n := value.(type) {
	case float64:
		p.Number = n
	case json.Number:
		if number, err := n.Float64(); err == nil {
			p.Number = number
		}
	}
	return p
}
