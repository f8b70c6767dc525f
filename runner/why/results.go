package why

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"prdrunner/checkpoint/state"
	"prdrunner/runner/plan"
)

// result is what a workstream handed to others, from a commit on.
type result struct {
	seq       uint64
	outputs   map[string]state.Text
	artifacts []state.Artifact
}

// resultAt returns the result that a workstream had at a commit, nil if that is not on record.
func (h *History) resultAt(name string, seq uint64) *result {
	if h == nil || h.steps[name] == nil {
		return nil
	}
	for _, r := range slices.Backward(h.steps[name].results) {
		if r.seq <= seq && h.stands(r.seq, seq) {
			return &r
		}
	}
	return nil
}

// digestAt returns the commit from which the results are that the last work of a step ran from.
func (h *History) digestAt(name string) uint64 {
	if h == nil || h.steps[name] == nil {
		return 0
	}
	return h.steps[name].digestAt
}

// addResults adds to a cause, for each workstream before it that gave another result, which outputs and
// artifacts differ between two commits.
func (x *explainer) addResults(c *Cause, from, to uint64) {
	var all []Change
	for _, change := range c.Changes {
		all = append(all, change)
		if change.Component != "upstream" || change.Name == "" {
			continue
		}
		was, is := x.history.resultAt(string(change.Name), from), x.history.resultAt(string(change.Name), to)
		if was == nil || is == nil {
			continue
		}
		for _, d := range differences(string(change.Name), was, is) {
			told := func(had Change) bool { return had.Component == "inputs" && had.Name == d.Name }
			if !slices.ContainsFunc(c.Changes, told) {
				all = append(all, Change{Change: d})
			}
		}
	}
	c.Changes = all
}

// differences returns the outputs and artifacts of a workstream that differ between two results.
func differences(name string, was, is *result) []plan.Change {
	var all []plan.Change
	for _, output := range keys(was.outputs, is.outputs) {
		a, had := was.outputs[output]
		b, has := is.outputs[output]
		if had != has || a != b {
			all = append(all, plan.Change{Component: "outputs", Name: state.Text(name + "." + output), OldText: quoted(a, had), NewText: quoted(b, has)})
		}
	}
	old, now := digests(was.artifacts), digests(is.artifacts)
	for _, path := range keys(old, now) {
		if old[path] != now[path] {
			all = append(all, plan.Change{Component: "artifacts", Name: path, Old: old[path], New: now[path]})
		}
	}
	return all
}

// quoted returns a value as the changes of a plan have it, "" if there is none.
func quoted(value state.Text, has bool) state.Text {
	if !has {
		return ""
	}
	return state.Text(strconv.Quote(string(value)))
}

// keys returns the keys of two maps, sorted.
func keys[K cmp.Ordered, V any](a, b map[K]V) []K {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

func digests(artifacts []state.Artifact) map[state.Text]string {
	all := make(map[state.Text]string, len(artifacts))
	for _, a := range artifacts {
		all[a.Path] = a.Digest
	}
	return all
}

// latest is later than every commit.
const latest = uint64(math.MaxUint64)
