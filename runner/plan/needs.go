package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// MissingResult is an output or a metric of a workstream that counts as done. The
// pipeline needs it, and it is not on record.
type MissingResult struct {
	Name string // as in RUNNER_OUTPUT: "id", "metric.coverage"
	By   string // the workstream, gate, phase or hook that needs it
	At   hcl.Range
}

// MissingResultsError says that work cannot count as done because the pipeline needs
// outputs or metrics that are not on record.
type MissingResultsError struct {
	Workstream string
	Missing    []MissingResult
}

func (e *MissingResultsError) Error() string {
	texts := make([]string, len(e.Missing))
	for i, l := range e.Missing {
		texts[i] = fmt.Sprintf("%s, which %s needs (%s:%d)", describeResult(l.Name), l.By, l.At.Filename, l.At.Start.Line)
	}
	if len(texts) == 1 {
		return "its " + texts[0] + ", is not on record"
	}
	return "not on record are its " + strings.Join(texts, ", and its ")
}

func describeResult(name string) string {
	if metric, ok := strings.CutPrefix(name, "metric."); ok {
		return "metric " + metric
	}
	return "output " + name
}

// MissingResults lists the results that the pipeline needs of a workstream that counts as
// done and that work, which may be nil, does not have: outputs that an expression uses
// outside of try, and metrics of the workstream's own gates that no earlier workstream
// can set now.
func (pl *Planner) MissingResults(ws *pipeline.Workstream, work *state.Work) []MissingResult {
	if work == nil {
		work = &state.Work{}
	}
	had := pipeline.Result{Status: pipeline.StatusCompleted, Outputs: make(map[string]string, len(work.Outputs))}
	for name, value := range work.Outputs {
		had.Outputs[name] = string(value)
	}
	r := pl.Results(true, 0)
	r.Open = true // the results of other workstreams are not known, and none of them is missing
	r.Workstream = func(name string) (pipeline.Result, bool) { return had, name == ws.Name }

	var lost []MissingResult
	add := func(l MissingResult) {
		if !slices.ContainsFunc(lost, func(o MissingResult) bool { return o.Name == l.Name }) {
			lost = append(lost, l)
		}
	}
	evaluateAll(pl.p, r, func(by string, diags hcl.Diagnostics) {
		for _, d := range diags {
			if missing, ok := d.Extra.(pipeline.MissingOutput); ok {
				add(MissingResult{Name: missing.Output, By: by, At: *d.Subject})
			}
		}
	})
	before := func(name string) bool { return pl.st.Workstream(name).Done() }
	for _, g := range ws.Gates {
		if g.Kind != pipeline.GateMetric || slices.ContainsFunc(ws.Upstream, func(name string) bool { return !before(name) }) {
			continue
		}
		_, given := work.Metrics[g.Metric.Name]
		if set, known := pl.st.Metrics[g.Metric.Name]; !given && (!known || set.Workstream == ws.Name) {
			add(MissingResult{Name: "metric." + g.Metric.Name, By: g.Label(), At: g.Range})
		}
	}
	return lost
}

// evaluateAll evaluates all expressions that a run of the pipeline would evaluate, and
// calls found with their diagnostics. It leaves out phases and workstreams that are
// certainly disabled.
func evaluateAll(p *pipeline.Pipeline, r pipeline.Results, found func(by string, diags hcl.Diagnostics)) {
	judged := func(gates []*pipeline.Gate) {
		for _, g := range gates {
			var diags hcl.Diagnostics
			switch g.Kind {
			case pipeline.GateCommand:
				_, diags = g.Invocation(r)
			case pipeline.GateCondition:
				_, _, diags = g.Condition(r)
			case pipeline.GateMetric, pipeline.GateApproval:
			}
			found(g.Label(), diags)
		}
	}
	for _, phase := range p.Phases {
		enabled, diags := phase.Enabled(r)
		if found(phase.Name, diags); !enabled && !diags.HasErrors() {
			continue
		}
		for _, ws := range phase.Workstreams {
			enabled, diags := ws.Enabled(r)
			if found(ws.Name, diags); !enabled && !diags.HasErrors() {
				continue
			}
			_, diags = ws.Invocation(r)
			found(ws.Name, diags)
			_, _, diags = ws.Verify(r)
			found(ws.Name, diags)
			judged(ws.Gates)
		}
		judged(phase.Gates)
	}
	for _, h := range p.Hooks {
		_, diags := h.Invocation(r) // only hooks for the event complete can refer to results
		found("a hook", diags)
	}
}
