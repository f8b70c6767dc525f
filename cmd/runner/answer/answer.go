// Package answer gives a user's answer to a gate that waits for a person: an approval or a
// rejection. [Give] carries out `runner approve` and `runner reject`; begin there.
//
// Which gate is meant, who may answer it and until when, and how the answer is handed to the
// owner of the session or recorded without one belong here. What a rejection runs again does
// not: checkpoint/state decides that.
package answer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/words"
	"prdrunner/runner"
)

// Options are an answer as the command line gives it.
type Options struct {
	Pipeline load.PipelineRef
	Gate     string // "": the only one that waits
	Message  string
	Inputs   []string // NAME=TEXT
	To       []string // of a rejection: the workstreams to run again
}

// Give hands the user's answer to the owner of the session, or records it itself if
// the session has no owner.
func Give(ctx context.Context, env *cli.Environment, o Options, verb checkpoint.Verb) error {
	prd := o.Pipeline.PRD
	inputs, err := parseInputs(o.Inputs)
	if err != nil {
		return err
	}
	store, st, err := load.TrustedState(ctx, env, o.Pipeline)
	if err != nil {
		return err
	}
	st = change.StateAfterFinish(ctx, store, st)
	a := &answer{env: env, prd: prd, pipeline: o.Pipeline, verb: verb, by: env.Actor(), comment: state.Text(o.Message),
		resume: advice.ResumeSession(st, o.Pipeline.VariableFlags(st.Sensitive))}
	g, err := waiting(st, o.Gate)
	if err != nil {
		return err
	}
	if err := a.refuseUnallowed(g); err != nil {
		return err
	}
	a.to, a.given = o.To, inputs
	if err := a.resolve(st, g); err != nil {
		return err
	}
	a.gate, a.definition, a.judged = g.Label, g.Definition, g.Judged
	request := checkpoint.Request{
		PRD: prd, Verb: verb, Gate: a.gate, Definition: a.definition, Judged: a.judged, Comment: a.comment, Inputs: a.given, To: a.to, By: a.by, At: env.Now(),
	}
	alone := false
	err = (&change.Target{Env: env, Store: store, PRD: prd}).Ask(ctx, request, func(session *checkpoint.Session, _ *change.FinishedRollback) error {
		alone = true
		return a.record(ctx, session)
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", verb, a.gate, err)
	}
	a.report(alone)
	return nil
}

// parseInputs returns the inputs of the command line.
func parseInputs(list []string) (map[string]state.Text, error) {
	var inputs map[string]state.Text
	for _, given := range list {
		name, value, ok := strings.Cut(given, "=")
		_, twice := inputs[name]
		switch {
		case !ok || name == "":
			return nil, advice.Usagef("--input needs NAME=TEXT, not %q", given)
		case twice:
			return nil, advice.Usagef("--input gives %s twice", name)
		case inputs == nil:
			inputs = make(map[string]state.Text)
		}
		inputs[name] = state.Text(value)
	}
	return inputs, nil
}

// answer is the user's answer to one gate.
type answer struct {
	env      *cli.Environment
	prd      string
	pipeline load.PipelineRef // as the command line names the pipeline
	verb     checkpoint.Verb
	by       state.Actor
	comment  state.Text
	given    map[string]state.Text // the inputs of the command line
	inputs   map[string]state.Text // those, with the defaults of an approval
	to       []string
	resume   string // the command that resumes the session

	ending []state.Event // what follows the rejection of a gate of a phase that repeats

	gate               string
	definition, judged string // of the gate when it was shown to the user
}

// refuseUnallowed refuses an answer of a user who is not an approver, and an answer that
// is too late.
func (a *answer) refuseUnallowed(g *state.Gate) error {
	if len(g.Approvers) > 0 && !slices.Contains(g.Approvers, a.by.User) {
		return advice.Usagef("%s may only be answered by %s, not by %s", g.Label, words.OneOf(g.Approvers), a.by.User)
	}
	if g.ExpiresAt != nil && !a.env.Now().Before(*g.ExpiresAt) {
		return advice.With(advice.Usagef("%s: the time to answer ended at %s", g.Label, g.ExpiresAt.UTC().Format("2006-01-02 15:04:05")),
			fmt.Sprintf("`runner %s` asks again", a.resume))
	}
	return nil
}

// resolve checks the inputs of an answer and the workstreams that a rejection names.
func (a *answer) resolve(st *state.State, g *state.Gate) error {
	var err error
	if a.to, err = (state.Rejection{State: st, Gate: g}).Work(a.to); err != nil {
		return advice.Usagef("--to: %w", err)
	}
	if a.inputs, err = state.CheckInputs(g.Asks, a.given, a.verb == checkpoint.VerbApprove); err != nil {
		return advice.Usagef("%s: %w", g.Label, err)
	}
	return nil
}

// record records the answer in a session that has no owner. Under the lock, it compares
// again what the gate asked about.
func (a *answer) record(ctx context.Context, session *checkpoint.Session) error {
	st := session.State()
	if st == nil {
		return fmt.Errorf("its session is gone: %w", checkpoint.ErrNoSession)
	}
	g := st.Gate(a.gate)
	if g == nil || !info.Awaits(g) {
		return advice.Usagef("it does not wait any more")
	}
	if g.Definition != a.definition || g.Judged != a.judged {
		return advice.Usagef("what it asks about has changed")
	}
	if err := a.refuseUnallowed(g); err != nil {
		return err
	}
	if err := a.resolve(st, g); err != nil {
		return err
	}
	if a.verb == checkpoint.VerbApprove && g.Status == state.Waiting {
		if err := a.compare(ctx, st, g); err != nil {
			return err
		}
	}
	e := a.recordedEvent(g)
	if rejected, ok := e.(state.GateRejected); ok {
		var err error
		if a.ending, err = (state.Rejection{State: st, Gate: g}).Ending(a.env.Now(), rejected); err != nil {
			return err
		}
	}
	session.Add(append([]state.Event{e}, a.ending...)...)
	for _, e := range a.ending {
		if e, ok := e.(state.PhaseRepeated); ok { // the end of each iteration is a checkpoint
			session.Checkpoint(state.TriggerIterationComplete, fmt.Sprintf("iteration %d", e.Iteration-1), st.Git)
		}
	}
	return session.Publish(ctx)
}

// compare refuses an approval if what the gate asked about has changed. If the pipeline
// can't be evaluated, compare tells the user that the next build compares. For a called
// pipeline, only the next build does.
func (a *answer) compare(ctx context.Context, st *state.State, g *state.Gate) error {
	if st.Caller != nil { // only the caller knows the values of its variables
		return nil
	}
	cfg, err := a.env.LoadConfig()
	if err != nil {
		return err
	}
	ref := a.pipeline
	if ref.File == "" {
		ref.File = load.SessionFile(a.env, st)
	}
	p, err := load.EvaluatedPipeline(a.env, cfg, ref)
	switch {
	case err != nil && (a.pipeline.File != "" || len(ref.Vars)+len(ref.VarFiles) > 0):
		return &advice.UsageError{Err: err}
	case err != nil:
		fmt.Fprintf(a.env.Stderr, "The next build checks whether what %s asks about has changed, since this command can't: %v\n", g.Label, err)
		return nil
	}
	setup, err := load.SetUpPipeline(ctx, a.env, cfg, p)
	if err != nil {
		return err
	}
	defer setup.Close()
	same, err := runner.ApprovalUnchanged(ctx, setup.ReadOptions(a.env), st, g)
	if err != nil {
		return fmt.Errorf("look at what it asks about: %w", err)
	}
	if !same {
		return advice.With(advice.Usagef("what it asks about has changed since it asked"), fmt.Sprintf("`runner %s` asks about what is there now", a.resume))
	}
	return nil
}

// recordedEvent returns the answer as the journal records it, bound to what the gate asked.
func (a *answer) recordedEvent(g *state.Gate) state.Event {
	verdict := g.Verdict()
	switch {
	case a.verb == checkpoint.VerbReject:
		return state.GateRejected{Verdict: verdict, By: a.by, Reason: a.comment, Inputs: a.inputs, To: a.to}
	case g.Status == state.Passed:
		return state.GateReviewed{Gate: g.Label, By: a.by, Comment: a.comment}
	}
	return state.GateApproved{Verdict: verdict, By: a.by, Comment: a.comment, Inputs: a.inputs}
}

func (a *answer) report(alone bool) {
	word := "Approved"
	if a.verb == checkpoint.VerbReject {
		word = "Rejected"
	}
	fmt.Fprintf(a.env.Stdout, "%s %s of %s\n", word, a.gate, a.prd)
	for _, e := range a.ending {
		switch e := e.(type) {
		case state.PhaseRepeated:
			fmt.Fprintf(a.env.Stdout, "Iteration %d of %s is next\n", e.Iteration, e.Phase)
		case state.SessionFailed:
			fmt.Fprintf(a.env.Stdout, "%s failed: %s\n", a.prd, e.Error.Message)
		}
	}
	if len(a.to) > 0 {
		fmt.Fprintf(a.env.Stdout, "These run again: %s\n", strings.Join(a.to, ", "))
	}
	if alone {
		fmt.Fprintf(a.env.Stdout, "Next: %s\n", a.env.Command(a.resume))
	}
}
