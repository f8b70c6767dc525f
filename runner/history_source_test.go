//go:build unix

package runner_test

import (
	"fmt"
	"strings"
)

// The pipeline file of a history.

// variation counts the edits of each part of a pipeline.
type variation struct {
	works map[string]int
	gates map[string]int
	off   map[string]bool
	harsh map[string]bool // workstreams that lost their allow_failure
	vars  map[string]int
	grown map[string]int
}

// source returns the present text of the pipeline.
func (h *history) source(v variation) string {
	var b strings.Builder
	b.WriteString("variable \"plain\" {}\nvariable \"token\" { sensitive = true }\n")
	b.WriteString("pipeline \"PRD-001\" {\n")
	h.Budget.write(&b, v.grown["budget"])
	h.Review.write(&b, v.grown["review"])
	for p, phase := range h.Phases {
		name := fmt.Sprintf("p%d", p)
		fmt.Fprintf(&b, "phase %q {\n", name)
		if phase.RunOn != "" {
			fmt.Fprintf(&b, " run_on = %q\n", phase.RunOn)
		}
		if phase.FailFast != "" {
			fmt.Fprintf(&b, " fail_fast = %s\n", phase.FailFast)
		}
		phase.Budget.write(&b, v.grown["budget"])
		phase.writeLoop(&b, v.grown["max"])
		for _, w := range phase.Works {
			h.writeWork(&b, w, v)
		}
		for _, g := range phase.Gates {
			writeGate(&b, g, name, v)
		}
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
	return b.String()
}

func (h *history) writeWork(b *strings.Builder, w histWork, v variation) {
	fmt.Fprintf(b, "workstream %q {\n command = [\"work\", %q]\n", w.Name, fmt.Sprint(v.works[w.Name]))
	var on []string
	for _, up := range w.On {
		on = append(on, "workstream."+up)
	}
	fmt.Fprintf(b, " depends_on = [%s]\n", strings.Join(on, ", "))
	if w.RunOn != "" {
		fmt.Fprintf(b, " run_on = %q\n", w.RunOn)
	}
	fmt.Fprintf(b, " inputs = %s\n", quoted(h.inputs(w)))
	var env []string
	if w.Uses != "" {
		env = append(env, "USED = workstream."+w.Uses+".outputs.value")
	}
	if w.Sees != "" {
		env = append(env, "SEEN = workstream."+w.Sees+".status")
	}
	if w.Counts {
		env = append(env, "ITERATION = iteration.index")
	}
	for _, name := range w.Vars {
		env = append(env, strings.ToUpper(name)+" = var."+name)
	}
	fmt.Fprintf(b, " env = { %s }\n", strings.Join(env, ", "))
	if w.Limited {
		b.WriteString(" timeout = \"1h\"\n")
	}
	if w.Verify {
		b.WriteString(" verify = [\"verify\"]\n")
	}
	if w.Makes {
		fmt.Fprintf(b, " artifacts = [%q]\n", w.artifact())
	}
	if w.Effect != "" {
		fmt.Fprintf(b, " effect = %q\n", w.Effect)
	}
	if w.Attempts > 0 {
		fmt.Fprintf(b, " retry {\n attempts = %d\n initial_interval = \"1ns\"\n jitter = 0\n }\n", w.Attempts)
	}
	if w.FailFast != "" {
		fmt.Fprintf(b, " fail_fast = %s\n", w.FailFast)
	}
	if w.Permits && !v.harsh[w.Name] {
		b.WriteString(" allow_failure = true\n")
	}
	if w.Rerun {
		b.WriteString(" on_gate_failure = \"rerun\"\n")
	}
	if v.off[w.Name] {
		b.WriteString(" when = false\n")
	}
	for _, g := range w.Gates {
		writeGate(b, g, w.Name, v)
	}
	b.WriteString("}\n")
}

func writeGate(b *strings.Builder, g histGate, owner string, v variation) {
	version := v.gates[g.label(owner)]
	fmt.Fprintf(b, "gate %q {\n", g.Name)
	if len(g.Inputs) > 0 {
		fmt.Fprintf(b, " inputs = %s\n", quoted(g.Inputs))
	}
	if g.Pause {
		b.WriteString(" pause = true\n")
	}
	switch g.Kind {
	case kindCommand:
		fmt.Fprintf(b, " command = [\"judge\", \"%d\"]\n", version)
	case kindCondition:
		fmt.Fprintf(b, " condition = workstream.%s.outputs.value != \"%d\"\n error_message = \"no\"\n", g.Of, version)
	case kindMetric:
		fmt.Fprintf(b, " metric = \"of-%s\"\n min = %d\n", g.Of, version)
	case kindApproval:
		fmt.Fprintf(b, " approval { message = \"Is it version %d?\" }\n", version)
	}
	b.WriteString("}\n")
}

// value returns the present value of a variable.
func (v variation) value(name string) string { return fmt.Sprintf("%s-%04d", name, v.vars[name]) }

func quoted(list []string) string {
	q := make([]string, len(list))
	for i, s := range list {
		q[i] = fmt.Sprintf("%q", s)
	}
	return "[" + strings.Join(q, ", ") + "]"
}
