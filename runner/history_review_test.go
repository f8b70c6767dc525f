//go:build unix

package runner_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/plan"
)

// The review before the first phase.

// histReview is a review.
type histReview struct {
	Attempts int      `json:"attempts"`
	Inputs   []string `json:"inputs,omitempty"`
	Strict   bool     `json:"strict,omitempty"` // each severity counts as the next worse one
}

const (
	reviewKey    = runner.ReviewLog // of the log of deeds
	reviewOwner  = "review"
	findsNothing = "garbage" // the review writes what nobody can read
	byApproval   = " asked"  // ends a finding without a command
)

func drawReview(t *rapid.T) *histReview {
	if rapid.IntRange(0, 2).Draw(t, "review") > 0 {
		return nil
	}
	return &histReview{Attempts: rapid.IntRange(1, 2).Draw(t, "review attempts"), Inputs: drawSome(t, "reviewed", sources, 2), Strict: rapid.IntRange(0, 3).Draw(t, "strict") == 0}
}

// drawFinds draws what the review finds in a build.
func (a *act) drawFinds(t *rapid.T) {
	all := []string{"p0", "p1", "p1", "p1" + byApproval, "p2", "p3", "p3"}
	for range rapid.IntRange(0, 2).Draw(t, "findings") {
		a.Finds = append(a.Finds, rapid.SampledFrom(all).Draw(t, "finds"))
	}
	if rapid.IntRange(0, 9).Draw(t, "botches") == 0 {
		a.Finds = []string{findsNothing}
	}
}

func (r *histReview) write(to io.Writer, version int) {
	if r == nil {
		return
	}
	fmt.Fprintf(to, "review {\n command = [\"review\", \"%d\"]\n inputs = %s\n max_attempts = %d\n", version, quoted(r.Inputs), r.Attempts)
	if r.Strict {
		fmt.Fprint(to, " do_not_ship = [\"p0\", \"p1\"]\n ship_with_gates = [\"p2\"]\n")
	}
	fmt.Fprint(to, "}\n")
}

// review writes the findings.
func (s *stage) review(task runner.Task, stop bool) deed {
	d := deed{name: reviewKey, cancelled: stop, ok: !stop, finds: s.act.Finds}
	text := []byte("garbage")
	if !slices.Equal(d.finds, []string{findsNothing}) {
		all := []state.Finding{}
		for _, f := range d.finds {
			severity, asked := strings.CutSuffix(f, byApproval)
			found := state.Finding{Severity: state.Severity(severity), Title: "a finding"}
			if !asked {
				found.Command = []string{"judge", "finding"}
			}
			all = append(all, found)
		}
		var err error
		if text, err = json.Marshal(all); err != nil {
			panic(err)
		}
	}
	path := task.Env["RUNNER_FINDINGS"]
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
		panic(err)
	}
	return d
}

// modelReview is the record of the review.
type modelReview struct {
	status  state.StepStatus // "": it never ran
	attempt int              // the last one that began
	judged  int              // the one that reached the verdict
	verdict state.ReviewVerdict
	failed  bool // the last attempt reached no verdict
	runs    int
	basis   string
	gates   []histGate // of the findings
}

func (r modelReview) blocks() bool { return r.verdict == state.VerdictDoNotShip }

func (r modelReview) goesOn() bool { return r.verdict != "" && !r.blocks() }

// reviewBasis returns what a verdict would be bound to now.
func (m *model) reviewBasis() string {
	return fmt.Sprintf("%d %q", m.v.grown["review"], m.read(m.h.Review.Inputs))
}

// reviewDecision says whether the review runs, and as which attempt.
func (m *model) reviewDecision() (plan.Decision, int) {
	is := m.review
	switch {
	case m.h.Review == nil:
		return plan.Reuse, 0
	case is.status == "":
		return plan.Run, 1
	case is.status == state.Pending, is.status == state.Running, is.status == state.Interrupted, is.failed:
		return plan.Run, is.attempt
	case is.blocks() && is.judged < m.h.Review.Attempts:
		return plan.Rerun, is.judged + 1
	case is.blocks():
		return plan.Blocked, is.judged
	case is.basis != m.reviewBasis():
		return plan.Rerun, 1
	}
	return plan.Reuse, is.judged
}

// reviewPasses reports whether the phases may run.
func (m *model) reviewPasses() bool {
	d, _ := m.reviewDecision()
	return d == plan.Reuse
}

// findingPhase returns the phase to which the gates of findings belong: the last one without
// run_on.
func (h *history) findingPhase() int {
	p := len(h.Phases) - 1
	for p > 0 && h.Phases[p].RunOn != "" {
		p--
	}
	return p
}

// phaseGates returns the gates of a phase, with those of the findings.
func (m *model) phaseGates(p int) []histGate {
	gates := m.h.Phases[p].Gates
	if p == m.h.findingPhase() {
		gates = slices.Concat(gates, m.review.gates)
	}
	return gates
}

func (m *model) applyReview(e state.Event) error {
	is, r := &m.review, m.run
	switch e := e.(type) {
	case state.ReviewStarted:
		d, attempt := m.reviewDecision()
		err := errors.Join(m.mustBe(d == plan.Run || d == plan.Rerun, "the model decides %s", d), m.mustBe(e.Attempt == attempt, "attempt %d is due", attempt),
			m.mustBe(e.Run == is.runs+1, "the review ran %d times", is.runs), m.mustBe(r.ended == "" && len(r.takes) == 0 && !r.reviewed, "the review cannot run now"))
		is.status, is.attempt, is.runs, is.failed, r.reviewed = state.Running, e.Attempt, e.Run, false, true
		return err
	case state.ReviewJudged:
		return m.reviewJudged(e)
	case state.ReviewFailed:
		d, ran := r.log[m.key(reviewKey, is.runs)]
		err := m.mustBe(is.status == state.Running && ran && !d.cancelled && slices.Equal(d.finds, []string{findsNothing}), "the review has a verdict")
		is.status, is.failed = state.Failed, true
		m.failReview()
		return err
	case state.ReviewInterrupted:
		err := m.mustBe(is.status == state.Running && (r.signal || !r.reviewed), "nothing interrupted the review")
		is.status = state.Interrupted
		return err
	case state.ReviewOverridden:
		err := m.mustBe(is.blocks(), "the review does not block")
		is.status, is.verdict, is.failed = state.Passed, state.VerdictOverridden, false
		return err
	}
	return errors.New("the model does not know this event")
}

// failReview ends a run before its first phase.
func (m *model) failReview() {
	m.fail(reviewOwner, true)
	m.stop()
}

// reviewJudged applies a verdict, which must follow from the findings.
func (m *model) reviewJudged(e state.ReviewJudged) error {
	is, at := &m.review, m.h.findingPhase()
	d, ran := m.run.log[m.key(reviewKey, is.runs)]
	err := errors.Join(m.mustBe(is.status == state.Running && ran && !d.cancelled, "the review is %s", is.status), m.mustBe(e.Attempt == is.attempt, "attempt %d runs", is.attempt))
	stops, gated := []string{"p0"}, []string{"p1"}
	if m.h.Review.Strict {
		stops, gated = []string{"p0", "p1"}, []string{"p2"}
	}
	verdict, counts := state.VerdictShip, map[string]int{}
	var gates []histGate
	for _, f := range d.finds {
		severity, asked := strings.CutSuffix(f, byApproval)
		counts[severity]++
		if slices.Contains(gated, severity) {
			g := histGate{Name: fmt.Sprintf("finding-%d", len(gates)+1), Kind: kindCommand}
			if asked {
				g.Kind = kindApproval
			}
			gates = append(gates, g)
		}
	}
	switch {
	case slices.ContainsFunc(stops, func(s string) bool { return counts[s] > 0 }):
		verdict, gates = state.VerdictDoNotShip, nil
	case len(gates) > 0:
		verdict = state.VerdictShipWithGates
	}
	err = errors.Join(err, m.mustBe(e.Verdict == verdict && e.P0 == counts["p0"] && e.P1 == counts["p1"], "the verdict must be %s, with %v", verdict, counts),
		m.mustBe(len(e.Gates) == len(gates), "%d gates follow", len(gates)))
	for _, g := range is.gates {
		delete(m.gates, g.label(phaseName(at)))
	}
	for i, g := range gates {
		label := g.label(phaseName(at))
		err = errors.Join(err, m.mustBe(i < len(e.Gates) && e.Gates[i] == label, "the gate %s is missing", label))
		m.gates[label] = &modelGate{status: state.Pending}
	}
	if m.phases[at] == state.Completed && len(gates) > 0 {
		m.phases[at] = state.Pending
	}
	is.status, is.verdict, is.judged, is.basis, is.gates = state.Passed, verdict, e.Attempt, m.reviewBasis(), gates
	if is.blocks() {
		is.status = state.Failed
		m.failReview()
	}
	return err
}

// endReview notes that a review which blocks has failed the session. A review that is due
// must have run.
func (m *model) endReview() error {
	d, _ := m.reviewDecision()
	switch {
	case d == plan.Reuse || slices.Contains(m.run.failures, reviewOwner):
		return nil
	case d == plan.Blocked:
		m.failReview()
		return nil
	}
	m.stop()
	return m.mustBe(m.run.signal || m.run.asked, "the review is due")
}

// jumpReview restores the record of the review. A verdict that forbids to go on stays, unless
// the session went on at the moment to which the rollback went.
func (m *model) jumpReview(then, now modelReview) {
	m.review = then
	switch {
	case then.goesOn() || now.status == "":
	case !now.goesOn():
		m.review = now
	default: // the verdict that let the session go on was reached later
		m.review = modelReview{status: state.Pending, attempt: 1}
	}
	m.review.runs = max(then.runs, now.runs)
}

// override lets the session go on in spite of the review.
func (p *play) override() error {
	if !p.m.session || !p.m.review.blocks() {
		return nil
	}
	err := p.locked(func(x *checkpoint.Session) error {
		x.Add(state.ReviewOverridden{By: state.Actor{User: "tester"}, Reason: "it is fine"})
		return nil
	})
	return errors.Join(err, p.follow())
}

// samePlannedReview compares the decision of the plan about the review with the model.
func (p *play) samePlannedReview(d plan.Decision, attempt int) error {
	is := p.plan.Review
	if p.h.Review == nil {
		return nil
	}
	if is == nil || is.Decision != d || is.Attempt != attempt {
		return fmt.Errorf("the plan decides %+v about the review, want %s with attempt %d", is, d, attempt)
	}
	return nil
}

// sameReview compares the record of the review with the model.
func (m *model) sameReview(st *state.State) error {
	var is modelReview
	if r := st.Review; r != nil {
		is = modelReview{status: r.Status, attempt: r.Attempt, judged: r.JudgedAttempt, verdict: r.Verdict, failed: r.Error != nil, runs: r.Runs}
	}
	want := m.review
	want.basis, want.gates = "", nil
	if fmt.Sprint(is) != fmt.Sprint(want) {
		return fmt.Errorf("the review is %+v, and must be %+v", is, want)
	}
	return nil
}
