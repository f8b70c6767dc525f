package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/cmd/runner/words"
	"prdrunner/runner"
)

type answerOptions struct {
	pipeline load.PipelineRef
	gate     string
	message  string
	inputs   []string // NAME=TEXT
	to       []string // of a rejection: the workstreams to run again
}

func newApproveCommand(env *cli.Environment) *cobra.Command {
	var o answerOptions
	cmd := &cobra.Command{
		Use:   "approve PRD [GATE]",
		Short: "Approve a gate that waits for a person",
		Long: `Approve a gate that waits for a person, whether or not a build is running. GATE
can be omitted if only one gate waits.

If the gate asks for inputs, give each with --input, unless it has a default.
"runner status" shows which ones it asks for.

The approval holds for exactly what the gate judged when it asked. If that has
changed, the command is refused; if it changes later, the gate asks again.

If no build is running, this command finds such changes itself. It needs the
pipeline for that: it reads the file that the session ran, or the one given by
-f, and takes variables in the same way as "runner build".`,
		Example: `  runner approve PRD-009
  runner approve PRD-009 'sign-off (services)' -m "checked on staging"
  runner approve PRD-009 direction --input style=short --input feedback="less text"`,
		Args: cli.Arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.pipeline.PRD, o.gate = args[0], cli.FirstArgument(args[1:])
			return runAnswer(cmd.Context(), env, o, checkpoint.VerbApprove)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVarP(&o.message, "message", "m", "", "record `TEXT` with the answer")
	addInputFlag(cmd, &o)
	o.pipeline.AddFlags(cmd)
	return cmd
}

// addInputFlag adds the flag for the inputs of an answer.
func addInputFlag(cmd *cobra.Command, o *answerOptions) {
	cmd.Flags().StringArrayVar(&o.inputs, "input", nil, "give an input that the gate asks for, as `NAME=TEXT` (repeatable)")
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

// runAnswer hands the user's answer to the owner of the session, or records it itself if
// the session has no owner.
func runAnswer(ctx context.Context, env *cli.Environment, o answerOptions, verb checkpoint.Verb) error {
	prd := o.pipeline.PRD
	inputs, err := parseInputs(o.inputs)
	if err != nil {
		return err
	}
	store, st, err := load.TrustedState(ctx, env, o.pipeline)
	if err != nil {
		return err
	}
	st = change.StateAfterFinish(ctx, store, st)
	a := &answer{env: env, prd: prd, pipeline: o.pipeline, verb: verb, by: env.Actor(), comment: state.Text(o.message),
		resume: advice.ResumeSession(st, o.pipeline.VariableFlags(st.Sensitive))}
	g, err := waiting(st, o.gate)
	if err != nil {
		return err
	}
	if err := a.refuseUnallowed(g); err != nil {
		return err
	}
	a.to, a.given = o.to, inputs
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

// record records the answer in a session that has no owner. Under the lock, it compares
// again what the gate asked about.
func (a *answer) record(ctx context.Context, session *checkpoint.Session) error {
	st := session.State()
	if st == nil {
		return fmt.Errorf("its session is gone: %w", checkpoint.ErrNoSession)
	}
	g := st.Gate(a.gate)
	if g == nil || !show.Awaits(g) {
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

// waiting returns the gate that the user names by its label or by its bare name. Without a
// name, it returns the only gate that waits.
func waiting(st *state.State, name string) (*state.Gate, error) {
	var all, named []*state.Gate
	for g := range gatesOf(st) {
		bare, _, _ := strings.Cut(g.Label, " (")
		if name == g.Label || name == bare {
			named = append(named, g)
		}
		if show.Awaits(g) {
			all = append(all, g)
		}
	}
	if name == "" {
		return onlyOne(st, all)
	}
	open := slices.DeleteFunc(slices.Clone(named), func(g *state.Gate) bool { return !show.Awaits(g) })
	switch {
	case len(named) == 0:
		return nil, advice.With(advice.Usagef("there is no gate %q in %s", name, st.PRD), listWaiting(st, all))
	case len(open) == 0:
		return nil, advice.With(advice.Usagef("%s does not wait for an answer: it is %s", named[0].Label, named[0].Status), listWaiting(st, all))
	}
	return onlyOne(st, open)
}

func onlyOne(st *state.State, gates []*state.Gate) (*state.Gate, error) {
	switch {
	case len(gates) == 1:
		return gates[0], nil
	case len(gates) > 1:
		return nil, advice.With(advice.Usagef("several gates of %s wait for an answer; name one", st.PRD), listWaiting(st, gates))
	case st.Pause != nil && len(st.Pause.Calls) > 0:
		return nil, advice.With(advice.Usagef("no gate of %s itself waits for an answer", st.PRD), listWaiting(st, nil))
	}
	return nil, advice.With(advice.Usagef("no gate of %s waits for an answer", st.PRD), fmt.Sprintf("`runner status %s` shows its state", st.PRD))
}

// listWaiting names gates that wait, and those for which called pipelines have paused.
func listWaiting(st *state.State, gates []*state.Gate) string {
	var labels []string
	for _, g := range gates {
		labels = append(labels, text.ShellWord(g.Label))
	}
	if st.Pause != nil {
		for _, call := range st.Pause.Calls {
			for _, label := range call.Gates {
				labels = append(labels, text.ShellWord(label)+" of "+call.PRD)
			}
		}
	}
	if len(labels) == 0 {
		return "no gate waits for an answer"
	}
	return "these wait: " + strings.Join(labels, ", ")
}

// gatesOf yields every gate, in the order of the pipeline.
func gatesOf(st *state.State) func(yield func(*state.Gate) bool) {
	return func(yield func(*state.Gate) bool) {
		for _, p := range st.Phases {
			for _, w := range p.Workstreams {
				for _, g := range w.Gates {
					if !yield(g) {
						return
					}
				}
			}
			for _, g := range p.Gates {
				if !yield(g) {
					return
				}
			}
		}
	}
}

// errNotRunning reports that a session has no owner to hand a request to.
var errNotRunning = errors.New("nothing runs it")
