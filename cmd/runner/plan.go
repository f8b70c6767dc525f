package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/begin"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/checkpoints"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/inspect"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner"
	"prdrunner/runner/plan"
	"prdrunner/runner/view"
)

type planOptions struct {
	pipeline  load.PipelineRef
	selection plan.Selection
	resume    string
	noCache   bool // for the plan of a build with --fresh
	out       string
	all       bool
	command   string // as the user typed it
	json      bool
}

func newPlanCommand(env *cli.Environment) *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "plan [PRD|FILE]",
		Short: "Show what a build would do, and why",
		Long: `Show what a build would do with every workstream and gate, and why. Plan changes
nothing and takes no lock.

On a terminal, a plan that does not fit on the screen has the steps that are kept or
skipped as counts; --all lists them.`,
		Example: `  runner plan PRD-009 --resume
  runner plan PRD-009 --resume -o plan.json && runner build PRD-009 --plan plan.json`,
		Args: resumeArguments(&o.resume),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.command = env.Command(cli.WithoutText(cmd, args))
			args = withoutAuto(&o.resume, args)
			o.pipeline.SetName(env, cli.FirstArgument(args))
			resumeForOnly(&o.resume, o.selection)
			return runPlan(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	o.pipeline.AddFlags(cmd)
	o.pipeline.AddStrictFlag(cmd)
	addResumeFlag(cmd, &o.resume)
	addSelectionFlags(cmd, &o.selection)
	addRunFlags(cmd)
	flags.StringVarP(&o.out, "out", "o", "", "write the plan to `FILE`, for build --plan")
	flags.BoolVar(&o.all, "all", false, "list every step, also if they don't fit on the screen")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runPlan(ctx context.Context, env *cli.Environment, o planOptions) error {
	p, err := inspect.StartPreview(ctx, env, o.pipeline)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := refuseReplacing(env, o.out); err != nil {
		return err
	}
	if err := refuseOwnFile(env, p.Setup, o.out, "a plan"); err != nil {
		return err
	}
	p.Options.Select, p.Options.OwnFiles, p.Options.NoCache = o.selection, []string{env.InWorkspace(o.out)}, o.noCache
	if begin.NamesCheckpoint(o.resume) {
		return planRollback(ctx, p, o)
	}
	st, follows, err := p.State(ctx, o.resume)
	if err != nil {
		return err
	}
	p.SayRunning()
	plan, err := p.Plan(ctx, st)
	if err != nil {
		return err
	}
	plan.Imported = p.Options.Imported != nil
	if follows != nil && plan.Session == "" {
		plan.Follows = &state.Predecessor{Session: follows.Session, Seq: follows.Seq, At: follows.UpdatedAt}
	}
	if plan.Idle() && isComplete(st, p.Options) && !begin.Chosen(o.selection) {
		if o.resume == begin.ResumeCurrent || o.out != "" {
			return begin.AlreadyComplete(plan.PRD, p.Setup.Command(""))
		}
		fmt.Fprintf(env.Stderr, "%s already complete\n", plan.PRD)
	}
	if o.out != "" {
		if err := writePlan(env.Path(o.out), plan); err != nil {
			return err
		}
	}
	if o.json {
		return show.JSON(env.Stdout, plan)
	}
	return printPlan(env, p.Setup, st, plan, o)
}

// planRollback shows what a rollback to the checkpoint does with which a build would begin.
func planRollback(ctx context.Context, p *inspect.Preview, o planOptions) error {
	env, prd, checkpoint := p.Env, p.Setup.Pipeline.ID, text.ShellWord(o.resume)
	if o.out != "" {
		return advice.With(advice.Usagef("a plan with --resume=CHECKPOINT can't be written to a file: its steps are known only after the rollback"),
			fmt.Sprintf("`runner checkpoint rollback %s %s` goes back; then `plan --resume -o %s` writes it", prd, checkpoint, text.ShellWord(o.out)))
	}
	rollback := checkpoints.RollbackOptions{To: o.resume, DryRun: true, JSON: o.json}
	if err := checkpoints.RollBack(ctx, &change.Target{Env: env, Store: p.Setup.Store, PRD: prd, Files: p.Setup.Files}, nil, rollback); err != nil || o.json {
		return err
	}
	var b strings.Builder
	advice.WriteSuggestions(&b, env.CommandLine,
		advice.Suggest(p.Setup.Command(" --resume="+checkpoint), "goes back, and runs what it can't reuse"),
		advice.Suggest(fmt.Sprintf("checkpoint rollback %s %s", prd, checkpoint), "goes back, and no further; then plan --resume shows the rest"),
	)
	_, err := fmt.Fprintf(env.Stdout, "\nThis is only what the rollback does. What runs afterwards is known after the rollback:\n%s", b.String())
	return err
}

// printPlan prints a plan for people, and what to type next.
func printPlan(env *cli.Environment, setup *load.Setup, st *state.State, plan *plan.Plan, o planOptions) error {
	shown := view.PlanOptions{Color: env.Color(env.Stdout), Columns: env.Stdout.Width(), All: o.command + " --all", Neutral: env.Neutral}
	if !o.all {
		shown.Rows = env.Rows(env.Stdout)
	}
	if err := view.WritePlan(env.Stdout.Raw, plan, shown); err != nil {
		return err
	}
	show.OnceChoices(env.Stdout, env.CommandLine, st, plan, setup.Command(orResume(o.resume)))
	switch {
	case plan.Refused != "":
		show.ConflictChoices(env.Stdout, env.CommandLine, plan, setup.Command(" --resume"))
	case o.out != "":
		fmt.Fprintf(env.Stdout, "\nApply it: %s\n", env.Command(setup.Command("")+" --plan "+text.ShellWord(o.out)))
	}
	return nil
}

// isComplete reports whether the session or document that a plan continues is complete.
func isComplete(st *state.State, o runner.Options) bool {
	switch {
	case st != nil:
		return st.Status == state.StatusComplete
	case o.Imported != nil:
		return o.Imported.Status == state.StatusComplete
	}
	return o.Predecessor != nil
}

// orResume returns the flag with which a build carries out a plan: --resume if the plan
// continues a session, "" if it begins a new one.
func orResume(resume string) string {
	if resume == "" {
		return ""
	}
	return " --resume"
}

// refuseOwnFile refuses the name of a file that Runner is to write if it has another meaning:
// it lies in the state directory, it is the configuration, or the pipeline reads or makes it.
// Writing it would change the very things that were planned.
func refuseOwnFile(env *cli.Environment, setup *load.Setup, name, what string) error {
	if name == "" {
		return nil
	}
	const hint = "name a file outside the workspace, or one that no pattern of the pipeline matches"
	path := withoutLinks(env.Path(name))
	if rel, err := filepath.Rel(withoutLinks(setup.Store.Dir()), path); err == nil && filepath.IsLocal(rel) {
		return advice.With(advice.Usagef("%s is in the state directory, which holds only what Runner writes there", name), hint)
	}
	base := withoutLinks(filepath.Join(env.Workdir, "runner"))
	if slices.ContainsFunc(config.Extensions(), func(extension string) bool { return path == base+extension }) {
		return advice.With(advice.Usagef("%s would be read as the configuration", name), hint)
	}
	rel, err := filepath.Rel(withoutLinks(env.Workdir), path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	if of := plan.RoleOf(setup.Pipeline, filepath.ToSlash(rel)); of != "" {
		return advice.With(advice.Usagef("%s is %s, so writing %s there would change what was planned", name, of, what), hint)
	}
	return nil
}

// withoutLinks returns a path with the symbolic links in its directory resolved, if the
// directory exists.
func withoutLinks(path string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path
	}
	return filepath.Join(dir, filepath.Base(path))
}

// refuseReplacing refuses to write a plan over a file that is not a plan, such as the
// pipeline.
func refuseReplacing(env *cli.Environment, name string) error {
	if name == "" {
		return nil
	}
	data, err := cli.ReadFile(env.Path(name))
	if errors.Is(err, fs.ErrNotExist) || err == nil && (len(data) == 0 || holdsPlan(data)) {
		return nil
	}
	return advice.With(advice.Usagef("%s exists, and is not a plan", name), "name another file, or remove it")
}

// writePlan writes a plan atomically: the file never holds half a plan.
func writePlan(path string, plan *plan.Plan) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".plan-*")
	if err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(show.JSON(f, plan), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return nil
}

// planHead holds the fields that distinguish a plan from other JSON, and one plan from
// another.
type planHead struct {
	FormatVersion string `json:"format_version"`
	PRD           string `json:"prd"`
	Facts         string `json:"facts"`
}

// holdsPlan reports whether data holds a plan, of any format version.
func holdsPlan(data []byte) bool {
	var head planHead
	return json.Unmarshal(data, &head) == nil && head.FormatVersion != "" && head.Facts != ""
}

// readPlan reads the plan that --plan names. Without --plan it returns nil.
func readPlan(env *cli.Environment, name, prd string) (*plan.Plan, error) {
	if name == "" {
		return nil, nil
	}
	data, err := cli.ReadFile(env.Path(name))
	if err != nil {
		return nil, advice.Usagef("read plan: %w", err)
	}
	var head planHead
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, advice.Usagef("%s is no plan: %w", name, err)
	}
	switch {
	case head.FormatVersion == "":
		return nil, advice.With(advice.Usagef("%s is no plan", name), "`runner plan -o FILE` writes one")
	case head.FormatVersion != plan.FormatVersion:
		return nil, &state.VersionError{Path: name, Version: "plan format " + head.FormatVersion}
	case head.PRD != prd:
		return nil, advice.Usagef("%s is a plan of %s, not of %s", name, head.PRD, prd)
	}
	var plan plan.Plan
	if err := json.Unmarshal(data, &plan); err != nil {
		return nil, advice.Usagef("%s is no plan: %w", name, err)
	}
	return &plan, nil
}
