package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strconv"
	"strings"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// MetricOf returns a metric on record. It ignores a metric of a workstream that has left
// the pipeline, because gates would pass with a number that no workstream reports any
// more. A metric that counts what work costs is the sum of the session.
func MetricOf(st *state.State, p *pipeline.Pipeline, name string) (state.Metric, bool) {
	if sum, counts := st.Spent.Metric(name); counts && sum != "0" {
		return state.Metric{Value: sum}, true
	}
	m, ok := st.Metrics[name]
	if !ok || p.Workstream(m.Workstream) == nil {
		return state.Metric{}, false
	}
	return m, true
}

// ResultsOf returns the values that expressions may refer to: the metrics, and the
// outputs and artifacts of workstreams that completed or were skipped.
func ResultsOf(st *state.State, p *pipeline.Pipeline, run pipeline.RunInfo) pipeline.Results {
	metrics := make(map[string]any, len(st.Metrics))
	for name := range st.Metrics {
		if m, ok := MetricOf(st, p, name); ok {
			metrics[name] = m.Value
		}
	}
	for _, name := range []string{ledger.MetricCostUSD, ledger.MetricTokensIn, ledger.MetricTokensOut} {
		if m, ok := MetricOf(st, p, name); ok {
			metrics[name] = m.Value
		}
	}
	return pipeline.Results{
		Metrics: metrics,
		Run:     run,
		Issue:   IssueValues(st.Issue),

		Iteration: st.IterationOf,
		Answer:    func(label string) (pipeline.Answer, bool) { return answerOf(st, label) },
		Workstream: func(name string) (pipeline.Result, bool) {
			w := st.Workstream(name)
			switch {
			case w == nil:
				return pipeline.Result{}, false
			case w.Status == state.Skipped:
				return pipeline.Result{Status: pipeline.StatusSkipped}, true
			case w.FailureAllowed():
				return pipeline.Result{Status: pipeline.StatusFailed}, true
			case !w.Done() && w.Held == nil: // the gates of a held result use it
				return pipeline.Result{}, false
			}
			r := pipeline.Result{Status: pipeline.StatusCompleted, Outputs: make(map[string]string, len(w.Outputs))}
			for k, v := range w.Outputs {
				r.Outputs[k] = string(v)
			}
			for _, a := range w.Artifacts {
				r.Artifacts = append(r.Artifacts, string(a.Path))
			}
			return r, true
		},
	}
}

// IssueValues returns the values of an issue that expressions may refer to, nil if it is nil.
func IssueValues(i *state.Issue) *pipeline.IssueValues {
	if i == nil {
		return nil
	}
	return &pipeline.IssueValues{Number: i.Number, Title: string(i.Title), Body: string(i.Body), Labels: i.Labels, Assignees: i.Assignees}
}

// DigestOf returns the digest of everything that a workstream would run from: its
// evaluated invocation, its variables, the results of its upstream workstreams, and its
// input files.
func DigestOf(ws *pipeline.Workstream, inv pipeline.Invocation, st *state.State, p *pipeline.Pipeline, inputs FileSet) state.Digest {
	d := state.Digest{Definition: inv.Definition, Variables: ws.Variables()}
	if len(ws.Inputs) > 0 {
		d.Inputs, d.Seen = inputs.digest(), inputs.recordSeen()
		if len(inputs.Files) <= state.MaxInline {
			for _, a := range inputs.Files {
				d.Files = append(d.Files, state.FileRef{Path: a.Path, Digest: a.Digest})
			}
		}
	}
	d.Upstream, d.Results = upstreamDigest(ws, st, p)
	return d
}

// upstreamDigest returns the digest of the results that a workstream runs from, "" if there are
// none, and the digests of the single results, nil if there are too many to list.
func upstreamDigest(ws *pipeline.Workstream, st *state.State, p *pipeline.Pipeline) (sum string, results map[string]string) {
	afterFailures := ws.Phase.RunOn != pipeline.RunOnSucceeded
	if len(ws.Upstream) == 0 && !afterFailures {
		return "", nil
	}
	parts := make([]string, 0, 2*len(ws.Upstream)+2)
	if len(ws.Upstream) <= state.MaxInline {
		results = make(map[string]string, len(ws.Upstream)+1)
	}
	add := func(name, result string) {
		if parts = append(parts, name, result); results != nil {
			results[name] = result
		}
	}
	for _, name := range ws.Upstream {
		add(name, resultDigest(st.Workstream(name), p.Workstream(name)))
	}
	if afterFailures {
		add("the phases before", fmt.Sprintf("work up to commit %d", workBefore(ws.Phase, st)))
	}
	return digestParts(parts...), results
}

// digestedMode returns the bits of a file's mode that its digest covers. Read and write
// permissions of group and others are left out.
func digestedMode(a state.Artifact) uint32 { return a.Mode &^ 0o066 }

// DigestFiles returns the digest of a list of files: paths, modes and contents.
func DigestFiles(files []state.Artifact) string {
	d := newDigester()
	for _, a := range files {
		d.add(string(a.Path))
		d.add(strconv.FormatUint(uint64(digestedMode(a)), 8))
		d.add(a.Digest)
	}
	return d.sum()
}

// resultDigest returns the digest of a workstream's result, as its dependents see it: its
// outputs and artifacts and, unless its effect is pure, the run that made them. The values of
// sensitive outputs are not on record, so that what they were made from counts in their place.
// Such a workstream runs again whenever a run needs these values, and its run stands apart:
// see sameResult.
func resultDigest(w *state.Workstream, ws *pipeline.Workstream) string {
	if w == nil || w.Status == state.Skipped {
		return "skipped"
	}
	if w.Status == state.Failed {
		return fmt.Sprintf("failed in commit %d", w.EndedSeq)
	}
	parts := []string{DigestFiles(w.Artifacts)}
	for _, name := range slices.Sorted(maps.Keys(w.Outputs)) {
		parts = append(parts, name, string(w.Outputs[name]))
	}
	run := fmt.Sprintf("run %d", w.WorkSeq)
	switch {
	case len(ws.SensitiveOutputs) > 0:
		sum := digestParts(append(parts, madeFrom(w.Digest)...)...)
		if ws.Effect == pipeline.Pure {
			return sum
		}
		return sum + " " + run
	case ws.Effect != pipeline.Pure:
		parts = append(parts, run)
	}
	return digestParts(parts...)
}

// madeFrom lists what a result was made from: the components of its digest, without the runs
// that made results with sensitive outputs.
func madeFrom(d state.Digest) []string {
	parts := []string{d.Definition, d.Inputs}
	for _, name := range slices.Sorted(maps.Keys(d.Variables)) {
		parts = append(parts, name, d.Variables[name])
	}
	if d.Results == nil {
		return append(parts, d.Upstream)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Results)) {
		parts = append(parts, name, withoutRun(d.Results[name]))
	}
	return parts
}

// withoutRun returns the digest of a result without the run that made it, if that stands apart.
func withoutRun(result string) string {
	sum, _, _ := strings.Cut(result, " run ")
	return sum
}

// sameResult reports whether two digests of results differ at most in the run that made them,
// where a workstream ran again for its sensitive outputs.
func sameResult(a, b string) bool { return withoutRun(a) == withoutRun(b) }

// digestChanges lists the differences between two digests, component by component. The
// definition comes last, because a changed variable or output tells the user more.
// changedInputs names the changed inputs if the digests do not list them; nil if they are
// not known.
func digestChanges(was, is state.Digest, changedInputs func() []Change) []Change {
	var c []Change
	for _, name := range differingKeys(was.Variables, is.Variables) {
		c = append(c, Change{Component: "variables", Name: state.Text(name), Old: was.Variables[name], New: is.Variables[name]})
	}
	if was.Inputs != is.Inputs {
		of := componentChanges("inputs", was.Inputs, is.Inputs, inputDigests(was), inputDigests(is))
		if of[0].Name == "" && changedInputs != nil {
			if found := changedInputs(); len(found) > 0 {
				of = found
			}
		}
		c = append(c, of...)
	}
	if was.Upstream != is.Upstream {
		c = append(c, componentChanges("upstream", was.Upstream, is.Upstream, was.Results, is.Results)...)
	}
	if was.Definition != is.Definition {
		c = append(c, Change{Component: "definition", Old: was.Definition, New: is.Definition})
	}
	return c
}

// componentChanges lists the members of one component that differ. If a side has too many
// members to list (nil), it lists the component as a whole. A side with an empty sum has
// no members. The result is never empty.
func componentChanges(component, was, is string, old, now map[string]string) []Change {
	var c []Change
	for _, name := range differingKeys(old, now) {
		c = append(c, Change{Component: component, Name: state.Text(name), Old: old[name], New: now[name]})
	}
	if unlisted := was != "" && old == nil || is != "" && now == nil; len(c) == 0 || unlisted {
		return []Change{{Component: component, Old: was, New: is}}
	}
	return c
}

// inputDigests returns the digests of inputs by path, nil if there are too many to list.
func inputDigests(d state.Digest) map[string]string {
	if len(d.Files) == 0 && d.Inputs != DigestFiles(nil) {
		return nil
	}
	m := make(map[string]string, len(d.Files))
	for _, f := range d.Files {
		m[string(f.Path)] = f.Digest
	}
	return m
}

// differingKeys returns the keys for which two maps have different values, sorted.
func differingKeys(a, b map[string]string) []string {
	all := make(map[string]string, len(a)+len(b))
	maps.Copy(all, a)
	maps.Copy(all, b)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(key string) bool { return a[key] == b[key] })
}

// IdempotencyKey returns a key that is the same for all attempts of a session, in one
// iteration of its phase, at a
// workstream with the same digest.
func IdempotencyKey(session string, ws *pipeline.Workstream, d state.Digest, iteration int) string {
	parts := []string{session, ws.Name, d.Definition, d.Inputs, d.Upstream}
	if iteration > 1 {
		parts = append(parts, "iteration", strconv.Itoa(iteration))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Variables)) {
		parts = append(parts, name, d.Variables[name])
	}
	return hex.EncodeToString([]byte(digestParts(parts...)[len("sha256:"):][:16]))
}

// digestParts returns the digest of a list of parts. Each part is hashed with its
// length, so that no two different lists give the same bytes.
func digestParts(parts ...string) string {
	d := newDigester()
	for _, p := range parts {
		d.add(p)
	}
	return d.sum()
}

// digester computes the same digest as digestParts from parts that become known one after
// the other.
type digester struct {
	hash hash.Hash
	buf  []byte // the last part, with its length; kept to save allocations
}

func newDigester() digester { return digester{hash: sha256.New()} }

func (d *digester) add(part string) {
	d.buf = strconv.AppendInt(d.buf[:0], int64(len(part)), 10)
	d.buf = append(d.buf, ':')
	d.buf = append(d.buf, part...)
	_, _ = d.hash.Write(d.buf) // Write of a hash never fails
}

func (d *digester) sum() string {
	return "sha256:" + hex.EncodeToString(d.hash.Sum(nil))
}

// DigestOrRecorded returns the digest to record for a workstream that is declared done
// without a run: its present digest, or the digest on record if the present one cannot be
// evaluated.
func (pl *Planner) DigestOrRecorded(ws *pipeline.Workstream) *state.Digest {
	d, diags := pl.currentDigest(ws)
	if diags.HasErrors() {
		return RecordedDigest(pl.st.Workstream(ws.Name))
	}
	return &d
}

// RecordedDigest returns a copy of the digest on record, or nil.
func RecordedDigest(rec *state.Workstream) *state.Digest {
	if rec == nil || rec.Digest.Definition == "" {
		return nil
	}
	last := rec.Digest // the record changes later
	return &last
}

// DigestChanges lists the differences between two digests on record.
func DigestChanges(was, is state.Digest) []Change { return digestChanges(was, is, nil) }

// DescribeChanges names each component that changed, its first change, and how many more there are.
func DescribeChanges(all []Change) string { return describeChanges(all) }
