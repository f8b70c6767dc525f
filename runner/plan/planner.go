package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"

	"prdrunner/checkpoint/state"
	"prdrunner/pipeline"
)

// Planner decides the steps of a pipeline in the order in which they run. Planner.Plan
// decides all steps at once; the run loop asks for each step just before it starts it.
type Planner struct {
	p          *pipeline.Pipeline
	st         *state.State // nil before the first run
	facts      *Facts
	onConflict OnConflict
	selection  *Chosen
	run        pipeline.RunInfo
	ownership  *Ownership
	ports      func(service string) int // of the services that run; nil: none does
	failed     bool                     // a phase of the current run has failed
	runSeq     uint64                   // the commit that began the current run; 0 outside a run

	steps        map[string]Step // the last decision about each workstream, by name
	gates        map[string]Step // the last decision about each gate, by label
	stateAtStart *state.State    // set while Plan decides: the state on record, before Plan applied the skips of the run to st
	// versions holds earlier versions of the pipeline. The key is made of the variables
	// whose values differ from now.
	versions   map[string]*pipeline.Pipeline
	failing    string            // the first phase of the plan that is known to fail; "": none is
	anyBlocked bool              // whether some workstream cannot complete
	remade     map[string]string // workstreams that run again since an artifact is made again from an earlier layer → reason
	rerunning  []string          // the workstreams that will have another result, in the order in which they were decided
}

// New returns a Planner that decides from the state st, nil before the first run, and from
// the facts f.
func New(p *pipeline.Pipeline, st *state.State, f *Facts, choice OnConflict, c *Chosen) *Planner {
	if st == nil {
		st = &state.State{}
	}
	workstreams := 0
	for _, phase := range p.Phases {
		workstreams += len(phase.Workstreams)
	}
	run := pipeline.RunInfo{Session: st.Session, Resumed: st.Session != ""}
	return &Planner{p: p, st: st, facts: f, onConflict: choice, selection: c, run: run, ownership: NewOwnership(p, f.Links), steps: make(map[string]Step, workstreams), gates: make(map[string]Step)}
}

// BeginRun makes the planner decide for the current run, from the state of its session,
// which changes during the run. Workstreams that plan blocks because the user did not
// select them stay blocked.
func (pl *Planner) BeginRun(st *state.State, plan *Plan, resumed bool) {
	pl.st, pl.run = st, pipeline.RunInfo{Session: st.Session, Resumed: resumed}
	pl.selection.repeat = nil // the session has recorded it by now
	pl.selection.recordBlocked(pl.p, plan)
}

// SetPipeline replaces the pipeline by one with other instances.
func (pl *Planner) SetPipeline(p *pipeline.Pipeline) {
	pl.p, pl.ownership, pl.versions = p, NewOwnership(p, pl.facts.Links), nil
	pl.selection = pl.selection.of(p, pl.st)
}

// SetPorts tells the planner how to find the ports of the services of the run.
func (pl *Planner) SetPorts(ports func(service string) int) { pl.ports = ports }

// SetBeginCommit tells the planner which commit began the current run.
func (pl *Planner) SetBeginCommit(seq uint64) { pl.runSeq = seq }

// Step returns the last decision about a workstream.
func (pl *Planner) Step(name string) (Step, bool) {
	s, ok := pl.steps[name]
	return s, ok
}

// SetStep replaces the last decision about a workstream.
func (pl *Planner) SetStep(s Step) { pl.steps[s.Name] = s }

// SetDecision replaces the last decision about a workstream by one without a reason.
func (pl *Planner) SetDecision(workstream string, d Decision) {
	pl.SetStep(Step{Kind: WorkstreamStep, Name: workstream, Decision: d})
}

// ExclusionReason returns why the user's selection leaves out a workstream, "" if it does
// not.
func (pl *Planner) ExclusionReason(ws *pipeline.Workstream) string {
	return pl.selection.exclusionReason(ws)
}

// LeavesUntouched reports whether the run does not touch a workstream of the phase
// because the plan blocks it as not selected.
func (pl *Planner) LeavesUntouched(phase *pipeline.Phase) bool {
	return pl.selection.leavesUntouched(phase)
}

// Allowed yields the names of the workstreams that --only lets run. Without --only it
// yields none.
func (pl *Planner) Allowed() iter.Seq[string] { return maps.Keys(pl.selection.allowed) }

// Workstream decides one workstream. The caller must have decided all its upstream
// workstreams in its phase.
func (pl *Planner) Workstream(ws *pipeline.Workstream, e When) (Step, hcl.Diagnostics) {
	s := subject{
		ws: ws, record: pl.st.Workstream(ws.Name), conflicts: pl.facts.Conflicts[ws.Name], onConflict: pl.ConflictChoice(ws.Name),
		when: e, forced: pl.selection.forced[ws.Name], remade: pl.remade[ws.Name], layered: pl.layeredConflicts(ws.Name), excluded: pl.selection.exclusionReason(ws), blockedByPlan: pl.selection.blockedByPlan[ws.Name],
		changedInputs: func() []Change {
			v := pl.ownership.ScopeOf(ws)
			return pl.facts.changesAmong("inputs", pl.facts.Inputs[ws.Name].Patterns, func(p string) bool {
				return pl.ownership.Makes(v, p) || pl.unchangedSince(v, pl.facts.Inputs[ws.Name], pl.st.Workstream(ws.Name).Digest.Seen, p)
			})
		},
	}
	if comment := pl.st.Feedback.Objections[s.record.Rejected].Comment; comment != "" {
		s.objection = ": " + firstLine(string(comment))
	}
	repeats := e.skipReason == "" && pl.mustRepeat(ws)
	if repeats {
		s.record = resetForRepeat(s.record)
	}
	s.rerunFirst, s.verifyFirst, s.blocked = pl.classifyUpstream(ws)
	s.blocked = appendNew(s.blocked, e.blocked)
	s.digestKnown = len(s.rerunFirst) == 0 && len(s.blocked) == 0
	var diags hcl.Diagnostics
	if s.digestKnown && e.skipReason == "" && e.evalError == "" {
		if s.digest, diags = pl.comparableDigest(ws, s.record); diags.HasErrors() {
			s.evalError = "it can't be evaluated: " + firstError(diags)
		}
	}
	if known, record := s.digestKnown && s.evalError == "", s.record; ws.Cache {
		s.findCached = func() (result *state.Result, perhaps bool) {
			if known {
				return pl.cachedResult(ws, record), false
			}
			return nil, len(pl.facts.EarlierRunsOf(ws)) > 0
		}
	}
	s.lostChange, s.gateChanged = pl.lostChange(ws, s.record), pl.failedGateChanged(ws, s.record)
	s.act = pl.earlierAct(ws, s.record)
	if len(s.blocked) == 0 && (len(s.rerunFirst) == 0 || !ws.NeedsResults()) { // otherwise the run loop decides this before it starts the workstream
		if s.former = pl.FormerRecord(ws, s.record); s.act == nil {
			s.act = pl.actUnderFormerName(ws, s.record)
		}
	}
	certain := s.record.Done() && !ws.HasEnvFiles() // a dotenv file may be made by what runs first
	if (s.act != nil || certain) && !s.digestKnown && !ws.NeedsResults() {
		if inv, diags := ws.Invocation(pl.Results(false, 0)); !diags.HasErrors() {
			s.definition = inv.Definition
		}
	}
	step := decide(s)
	step.Repeats, step.Called = repeats, s.calledSession(step)
	if step.Called == Continues && pl.stateAtStart != nil { // a run tries it, so that its failure is on record
		step = pl.needSession(s, step)
	}
	pl.steps[ws.Name] = step
	return step, diags
}

// currentDigest returns the digest that a workstream would have if it ran now.
func (pl *Planner) currentDigest(ws *pipeline.Workstream) (state.Digest, hcl.Diagnostics) {
	return pl.digestWith(ws, pl.facts.Inputs[ws.Name])
}

// comparableDigest returns the digest of a workstream without the changes that other
// workstreams have made to its inputs since it ran. It is comparable with the digest on
// record.
func (pl *Planner) comparableDigest(ws *pipeline.Workstream, rec *state.Workstream) (state.Digest, hcl.Diagnostics) {
	if !rec.Done() && !failureStands(ws, rec) {
		return pl.currentDigest(ws)
	}
	return pl.digestWith(ws, pl.withoutMakerChanges(pl.ownership.ScopeOf(ws), pl.facts.Inputs[ws.Name], rec.Digest.Seen))
}

func (pl *Planner) digestWith(ws *pipeline.Workstream, inputs FileSet) (state.Digest, hcl.Diagnostics) {
	inv, diags := ws.Invocation(pl.Results(ws.NeedsResults(), 0))
	if diags.HasErrors() {
		return state.Digest{}, diags
	}
	return DigestOf(ws, inv, pl.st, pl.p, inputs), diags
}

// Results returns what expressions may refer to. If needed is false it returns only the
// run and the issue, because building the rest takes time.
func (pl *Planner) Results(needed bool, attempt int) pipeline.Results {
	run := pl.run
	run.Attempt = attempt
	if !needed {
		return pipeline.Results{Run: run, Port: pl.ports, Iteration: pl.st.IterationOf, Issue: IssueValues(pl.issue())}
	}
	r := ResultsOf(pl.st, pl.p, run)
	r.Workstream, r.Port = pl.withEnded(r.Workstream), pl.ports
	r.Issue = IssueValues(pl.issue())
	if pl.stateAtStart != nil { // a plan evaluates expressions as if artifacts were restored already
		r.Restored = pl.facts.restoredOpeners()
		r.Answer = pl.plannedAnswer
	}
	return r
}

// issue returns the issue as it was read for this run or plan, or else the recorded one.
func (pl *Planner) issue() *state.Issue {
	if pl.facts.Issue != nil {
		return pl.facts.Issue
	}
	return pl.st.Issue
}

// Plan decides all steps.
func (pl *Planner) Plan(now time.Time) *Plan {
	plan := pl.decideAll(now)
	for pl.needSensitiveOutputs(plan) || pl.restoreBeneath() {
		pl.anyBlocked, pl.failing, pl.rerunning = false, "", nil
		plan = pl.decideAll(now)
	}
	plan.remakes = len(pl.remade) > 0
	return plan
}

// decideAll decides all steps once.
func (pl *Planner) decideAll(now time.Time) *Plan {
	pl.stateAtStart = pl.st
	defer func() { pl.st, pl.stateAtStart = pl.stateAtStart, nil }()
	if !SameShape(pl.st, pl.p) { // a run records new workstreams before it decides anything
		pl.st = pl.st.Reshaped(ShapeOf(pl.p))
	}
	plan := &Plan{
		FormatVersion: FormatVersion, PRD: pl.p.ID, Title: pl.p.Title, Session: pl.st.Session, Seq: pl.st.Seq,
		Status: string(pl.st.Status), MadeAt: now, Pipeline: pl.p.Digest,
		Warnings: []state.Text{}, Stale: []Stale{}, Conflicts: []Conflict{}, ChangedFiles: []ChangedFile{},
		Selection: pl.selection.selection, OnConflict: pl.onConflict,
	}
	if pl.st.Status == state.StatusComplete {
		plan.BeginsFrom = &state.Predecessor{Session: pl.st.Session, Seq: pl.st.Seq, At: pl.st.UpdatedAt}
	}
	var diags hcl.Diagnostics
	plan.Review, diags = pl.Review()
	plan.addWarnings(diags)
	for _, phase := range pl.p.Phases {
		pp := pl.decidePhase(plan, phase)
		if plan.ResumeFrom == 0 && (pl.failing == phase.Name || slices.ContainsFunc(pp.Steps, Step.hasWork)) {
			plan.ResumeFrom = phase.Number
		}
		plan.Phases = append(plan.Phases, pp)
	}
	pl.addStaleDocument(plan)
	pl.addStaleIssue(plan)
	pl.addDeletedBranch(plan)
	rests := pl.hasNothingToDo(plan)
	plan.idle = rests && len(plan.Stale) == 0
	plan.idleUnread = rests && !slices.ContainsFunc(plan.Stale, func(s Stale) bool { return s.Problem == "" })
	plan.Refused = pl.refusalReason(plan.Conflicts)
	if len(pl.facts.LinksOut) > 0 {
		plan.Warnings = append(plan.Warnings, state.Text(DescribeLinksOut(pl.facts.LinksOut)))
	}
	if pl.facts.CaptureError != nil {
		plan.Warnings = append(plan.Warnings, state.Text(pl.facts.CaptureError.Error()))
	}
	for _, c := range pl.facts.ChangedFiles {
		plan.ChangedFiles = append(plan.ChangedFiles, ChangedFile{Path: state.Text(c.Path), Kind: c.Kind})
	}
	plan.Facts = plan.decisionDigest(pl.facts)
	pl.explain(plan)
	return plan
}

// decidePhase decides the steps of a phase. If nothing is left to do in its iteration and
// another one follows, it decides the steps of that one.
func (pl *Planner) decidePhase(plan *Plan, phase *pipeline.Phase) Phase {
	enabled := pl.evaluatePhase(plan, phase)
	steps := pl.decideWorkstreams(plan, phase, enabled)
	var end iterationEnd
	if enabled.skipReason == "" && len(enabled.blocked) == 0 {
		end = pl.endOfIteration(phase, steps)
	}
	if end.next != nil {
		ended := steps
		pl.beginIteration(*end.next)
		steps = pl.decideWorkstreams(plan, phase, enabled)
		for i := range steps { // the run restores artifacts before anything else
			steps[i].Restores = ended[i].Restores
		}
	}
	plan.addWarnings(end.diags)
	for _, g := range phase.Gates {
		step, d := pl.Gate(g)
		if end.fails != "" {
			step, d = Step{Kind: GateStep, Name: g.Label()}.withDecision(Blocked, "%s", end.fails), nil
			pl.gates[step.Name] = step
		}
		plan.addWarnings(d)
		steps = append(steps, step)
	}
	if end.fails != "" && pl.failing == "" {
		pl.failing = phase.Name
		plan.Warnings = append(plan.Warnings, state.Text(fmt.Sprintf("%s fails: %s", phase.Name, end.fails)))
	}
	pp := pl.describePhase(phase, steps)
	if end.next != nil {
		pp.Repeat.Next = true
	}
	return pp
}

// describePhase returns the phase of a plan that has these steps.
func (pl *Planner) describePhase(phase *pipeline.Phase, steps []Step) Phase {
	pp := Phase{Name: phase.Name, Title: phase.Title, Number: phase.Number, Steps: steps}
	if phase.RunOn != pipeline.RunOnSucceeded {
		pp.RunOn = phase.RunOn
	}
	if r := phase.Repeat; r != nil {
		pp.Repeat = &Repeat{Iteration: pl.st.IterationOf(phase.Name), Max: r.Max, Until: r.Until()}
	}
	return pp
}

// evaluatePhase decides whether a phase runs.
func (pl *Planner) evaluatePhase(plan *Plan, phase *pipeline.Phase) When {
	enabled := pl.evaluatePhaseRunOn(phase, plan.Phases)
	if enabled.skipReason == "" && len(enabled.blocked) == 0 {
		enabled = enabled.combine(pl.evaluatePhaseWhen(phase))
	}
	plan.addWarnings(enabled.Diags)
	return enabled
}

// decideWorkstreams decides the workstreams of a phase, each with its gates.
func (pl *Planner) decideWorkstreams(plan *Plan, phase *pipeline.Phase, enabled When) []Step {
	byWorkstream := make(map[string][]Step, len(phase.Workstreams))
	for _, ws := range sortByBatch(phase.Workstreams) {
		own, steps, d := pl.decideWithGates(ws, enabled)
		plan.addWarnings(d)
		conflicts := pl.UndecidedConflicts(own)
		steps[0].Refused = pl.refusalReason(conflicts)
		if own.Decision == Skipped {
			pl.applySkip(own)
		}
		byWorkstream[ws.Name] = steps
		plan.Conflicts = append(plan.Conflicts, conflicts...)
	}
	all := make([]Step, 0, len(byWorkstream)+len(phase.Gates))
	for _, ws := range phase.Workstreams {
		all = append(all, byWorkstream[ws.Name]...)
	}
	return all
}

// applySkip applies a skipped workstream to a copy of the state, so that later steps are
// decided from the state that the run will have by then: a skipped workstream has no
// outputs, and the gates of its phase do not judge it.
func (pl *Planner) applySkip(own Step) {
	if pl.st.Workstream(own.Name).Status == state.Skipped {
		return
	}
	pl.copyState()
	pl.st.Skip(pl.st.Workstream(own.Name), own.Reason)
}

// copyState makes pl.st a copy, which the plan may change.
func (pl *Planner) copyState() {
	if pl.st == pl.stateAtStart {
		pl.st = pl.st.Clone()
	}
}

// addWarnings adds the errors of an evaluation to the warnings. They do not stop the run;
// the step fails when the run comes to it.
func (p *Plan) addWarnings(diags hcl.Diagnostics) {
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			p.Warnings = append(p.Warnings, state.Text(d.Summary+": "+d.Detail))
		}
	}
}

func firstError(diags hcl.Diagnostics) string {
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			return d.Summary
		}
	}
	return ""
}

// decideWithGates decides a workstream and its gates. own is the decision about the
// workstream without its gates, which says whether an edit is kept. steps are the steps
// that the plan shows; steps[0] is the workstream, and is Judge instead of Reuse if a
// gate is to be judged.
func (pl *Planner) decideWithGates(ws *pipeline.Workstream, e When) (own Step, steps []Step, diags hcl.Diagnostics) {
	if e.skipReason == "" && e.evalError == "" {
		e = e.combine(pl.evaluateRunOn(ws))
	}
	if e.skipReason == "" && e.evalError == "" {
		e = e.combine(pl.evaluateWorkstreamWhen(ws))
		diags = e.Diags
	}
	own, d := pl.Workstream(ws, e)
	diags = append(diags, d...)
	if own.Decision == Uncertain && ws.Verifies() && pl.selection.exclusionReason(ws) == "" && !pl.upstreamBlocked(ws, e) {
		own = own.withDecision(Uncertain, "%s; its verify command is asked first", own.Reason)
		own.Verify = true
		pl.steps[ws.Name] = own
	}
	runs, stuck := pl.upstreamOutcome(ws.Name)
	if runs {
		pl.rerunning = append(pl.rerunning, ws.Name)
	}
	pl.anyBlocked = pl.anyBlocked || stuck
	if steps, d = pl.decideGates(ws, own); pl.leavesGateUnjudged(ws, own, steps) {
		pl.steps[ws.Name] = own.withDecision(Blocked, "%s", pl.selection.exclusionReason(ws))
		steps, d = pl.decideGates(ws, pl.steps[ws.Name])
		pl.anyBlocked = true
	}
	return own, steps, append(diags, d...)
}

// upstreamBlocked reports whether a workstream will not run because a workstream before
// it cannot complete.
func (pl *Planner) upstreamBlocked(ws *pipeline.Workstream, e When) bool {
	_, _, blocked := pl.classifyUpstream(ws)
	return len(blocked)+len(e.blocked) > 0
}

// addStaleDocument adds the document of the pipeline to plan.Stale if it changed since the
// session recorded it.
func (pl *Planner) addStaleDocument(plan *Plan) {
	was, is := pl.st.Document, pl.facts.Document
	if pl.st.Session == "" || was == nil || is == nil || was.Path == is.Path && was.Digest == is.Digest {
		return
	}
	plan.Stale = append(plan.Stale, Stale{What: "document", Path: is.Path, Old: was.Digest, New: is.Digest, Difference: pl.facts.DocumentDifference})
}

// addDeletedBranch adds the git branch of the session's last run to plan.Stale if it was
// deleted.
func (pl *Planner) addDeletedBranch(plan *Plan) {
	if pl.facts.BranchGone && plan.BeginsFrom == nil { // a new session records the present branch
		plan.Stale = append(plan.Stale, Stale{What: "git branch", Path: pl.st.Git.Branch, Old: pl.st.Git.Commit, Gone: true})
	}
}

// hasNothingToDo reports whether a run of the plan would find nothing to do.
func (pl *Planner) hasNothingToDo(plan *Plan) bool {
	if len(plan.Conflicts) > 0 || plan.Review != nil && plan.Review.Decision != Reuse {
		return false
	}
	for _, phase := range plan.Phases {
		for i := range phase.Steps {
			if s := &phase.Steps[i]; s.hasWork() || len(s.Restores) > 0 || s.Decision == Skipped && !pl.recordedSkipped(s) {
				return false
			}
		}
	}
	return true
}

// recordedSkipped reports whether a step is on record as skipped.
func (pl *Planner) recordedSkipped(s *Step) bool {
	if s.Kind == GateStep {
		g := pl.stateAtStart.Gate(s.Name)
		return g != nil && g.Status == state.Skipped
	}
	w := pl.stateAtStart.Workstream(s.Name)
	return w != nil && w.Status == state.Skipped
}

// hasWork reports whether the run has something to do for the step, or pauses at it for a
// review.
func (s Step) hasWork() bool { return s.Decision != Reuse && s.Decision != Skipped || s.Review }

// decisionDigest returns a digest of the plan's decisions and of the input files,
// without the time. It returns "" if the plan cannot be encoded.
func (p *Plan) decisionDigest(f *Facts) string {
	sum := sha256.New()
	lines := json.NewEncoder(sum)
	all := *p
	all.MadeAt, all.Facts, all.Phases = time.Time{}, "", nil
	all.ChangedFiles = nil // the changed files that matter show in the steps
	err := lines.Encode(all)
	for _, phase := range p.Phases {
		steps := phase.Steps
		phase.Steps = nil
		err = errors.Join(err, lines.Encode(phase))
		for i := range steps {
			err = errors.Join(err, lines.Encode(&steps[i]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Inputs)) {
		if set := f.Inputs[name]; len(set.Files) > 0 {
			err = errors.Join(err, lines.Encode([]string{name, set.digest()}))
		}
	}
	if err != nil {
		return ""
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// sortByBatch orders workstreams so that each comes after the workstreams that it depends
// on.
func sortByBatch(all []*pipeline.Workstream) []*pipeline.Workstream {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *pipeline.Workstream) int { return a.Batch - b.Batch })
	return sorted
}
