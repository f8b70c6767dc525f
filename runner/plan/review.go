package plan

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/pipeline"
)

// ReviewStep is the decision about the review before the first phase.
type ReviewStep struct {
	Decision Decision   `json:"decision"` // run, rerun, reuse or blocked
	Reason   state.Text `json:"reason"`
	Attempt  int        `json:"attempt"` // the one that runs, or that reached the verdict
}

// ReviewDigests are what the verdict of a review is bound to.
type ReviewDigests struct {
	Definition string
	Judged     string // of the files that it reads, and of the document
}

// ReviewDigests returns what a review would be bound to now.
func (pl *Planner) ReviewDigests() (ReviewDigests, hcl.Diagnostics) {
	inv, diags := pl.p.Review.Invocation(pl.Results(false, 0))
	if diags.HasErrors() {
		return ReviewDigests{}, diags
	}
	document := ""
	if d := pl.facts.Document; d != nil {
		document = d.Digest
	}
	return ReviewDigests{Definition: inv.Definition, Judged: digestParts(pl.facts.Reviewed.digest(), document)}, nil
}

// ReviewUnchanged reports whether the definition and the files of a review still have the
// digests that they had before it ran. after has the present files.
func (pl *Planner) ReviewUnchanged(after *Facts, was ReviewDigests) bool {
	pl.facts.Reviewed = after.Reviewed
	now, diags := pl.ReviewDigests()
	return !diags.HasErrors() && now == was
}

// Review decides about the review. It returns nil if there is nothing to decide: the
// pipeline has no review, and no earlier one blocks.
func (pl *Planner) Review() (*ReviewStep, hcl.Diagnostics) {
	if pl.p.Review == nil {
		if pl.st.Review.Blocks() {
			return blockedReview(pl.st.Review, 0), nil
		}
		return nil, nil
	}
	now, diags := pl.ReviewDigests()
	step := decideReview(pl.p.Review, pl.st.Review, now)
	return &step, diags
}

// decideReview decides about a review from its record, nil if there is none.
func decideReview(r *pipeline.Review, rec *state.Review, now ReviewDigests) ReviewStep {
	run := func(d Decision, attempt int, format string, args ...any) ReviewStep {
		return ReviewStep{Decision: d, Attempt: attempt, Reason: state.Text(fmt.Sprintf(format, args...))}
	}
	switch {
	case rec == nil:
		return run(Run, 1, "not run yet")
	case rec.Status == state.Pending:
		return run(Run, rec.Attempt, "not run yet")
	case rec.Status == state.Running || rec.Status == state.Interrupted:
		return run(Run, rec.Attempt, "attempt %d was interrupted", rec.Attempt)
	case rec.Error != nil:
		return run(Run, rec.Attempt, "attempt %d reached no verdict: %s", rec.Attempt, rec.Error.Message)
	case rec.Blocks() && rec.JudgedAttempt < r.MaxAttempts:
		return run(Rerun, rec.JudgedAttempt+1, "attempt %d said %s", rec.JudgedAttempt, rec.Verdict)
	case rec.Blocks():
		return *blockedReview(rec, r.MaxAttempts)
	}
	if rec.Definition == "" {
		return run(Rerun, 1, "the verdict %s is of a document, which does not say what was reviewed", rec.Verdict)
	}
	var changed []string
	if rec.Definition != now.Definition {
		changed = append(changed, "its definition")
	}
	if rec.Judged != now.Judged {
		changed = append(changed, "what it reads")
	}
	if len(changed) > 0 {
		return run(Rerun, 1, "%s changed since the verdict %s", strings.Join(changed, " and "), rec.Verdict)
	}
	return run(Reuse, rec.JudgedAttempt, "%s", rec.Describe())
}

// blockedReview is the decision about a review that forbids to go on.
func blockedReview(rec *state.Review, most int) *ReviewStep {
	reason := "it says " + string(rec.Verdict)
	if most > 0 {
		reason = fmt.Sprintf("attempt %d of %d said %s", rec.JudgedAttempt, most, rec.Verdict)
	}
	return &ReviewStep{Decision: Blocked, Attempt: rec.JudgedAttempt, Reason: state.Text(reason)}
}

// FindingGates returns the gates that the findings of a review became.
func FindingGates(rec *state.Review) []pipeline.FindingGate {
	if rec == nil || len(rec.Gates) == 0 {
		return nil
	}
	gates := make([]pipeline.FindingGate, len(rec.Gates))
	for i, label := range rec.Gates {
		name, _, _ := strings.Cut(label, " (")
		gates[i] = pipeline.FindingGate{Name: name}
		if i < len(rec.Findings) {
			f := rec.Findings[i]
			gates[i].Command, gates[i].Script, gates[i].Message = f.Command, f.Script, "Is this finding settled? "+f.String()
			if f.Detail != "" {
				gates[i].Message += "\n" + string(f.Detail)
			}
		}
	}
	return gates
}

// FindingLabels returns labels for the gates of n findings, which no other gate of their phase
// has.
func FindingLabels(p *pipeline.Pipeline, had []string, n int) []string {
	phase := p.FindingPhase()
	taken := make(map[string]bool)
	for _, g := range phase.Gates {
		taken[g.Label()] = true
	}
	for _, label := range had {
		delete(taken, label)
	}
	labels := make([]string, 0, n)
	for i := 1; len(labels) < n; i++ {
		if label := state.FindingLabel(i, phase.Name); !taken[label] {
			labels = append(labels, label)
		}
	}
	return labels
}

// DescribeFindings names findings, at most a few of them.
func DescribeFindings(findings []state.Finding) string {
	names := make([]string, len(findings))
	for i, f := range findings {
		names[i] = f.String()
	}
	return text.Enumerate(names)
}
