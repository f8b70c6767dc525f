// Package doctor examines the machine and the workspace: whether Runner can work here, what
// an earlier run has left, and what to do about it.
//
// A check that looks at one thing and says how it is belongs here. Package show prints the
// findings. Examine ends no process, repairs nothing, and takes no lock that others wait for; its
// probe of the file system locks and writes files in a directory of its own in the state
// directory, and removes that. What a check finds out about a
// session is what the other commands find out, by the same functions of package load.
//
// Where to begin: Examine, which lists the checks. sessions.go has those of what is on record,
// files.go those of disks, machine.go those of git, the clock and the terminal.
package doctor

import (
	"context"
	"fmt"

	"prdrunner/checkpoint"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/runner/view"
)

// Error says that there are problems. The findings have been shown.
type Error struct {
	OnlyConfig bool // the configuration is the only problem
}

func (e *Error) Error() string { return "there are problems" }

// ErrorOf returns an *Error if there is a problem among findings, else nil.
func ErrorOf(findings []info.Finding) error {
	problems, ofConfig := 0, 0
	for _, f := range findings {
		if f.Level == info.Problem {
			problems++
			if f.Check == configuration {
				ofConfig++
			}
		}
	}
	if problems == 0 {
		return nil
	}
	return &Error{OnlyConfig: problems == ofConfig}
}

// configuration is the name of the check of the configuration.
const configuration = "configuration"

// examination is one call of Examine.
type examination struct {
	env      *cli.Environment
	cfg      *config.Config    // nil: it can't be read
	store    *checkpoint.Store // nil: the state directory can't be opened
	findings []info.Finding
}

// Examine makes all checks. With a PRD it examines the state directory of that PRD.
func Examine(ctx context.Context, env *cli.Environment, prd string) ([]info.Finding, error) {
	x := &examination{env: env}
	x.readConfig()
	x.openStore(prd)
	for _, check := range []func(context.Context){
		x.git, x.stateDirectory, x.temporaryFiles, x.terminal, x.processes, x.sessions, x.safety,
	} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		check(ctx)
	}
	return x.findings, ctx.Err()
}

func (x *examination) add(check string, level info.Level, next, format string, args ...any) {
	x.findings = append(x.findings, info.Finding{
		Check: check, Level: level, Detail: x.env.Localize(fmt.Sprintf(format, args...)), Next: x.env.Localize(next),
	})
}

func (x *examination) ok(check, format string, args ...any) {
	x.add(check, info.OK, "", format, args...)
}

// fail adds the problem that an error describes.
func (x *examination) fail(check string, err error) {
	x.add(check, info.Problem, advice.Of(x.env.CommandLine, x.env.Actor().User, err), "%v", err)
}

func (x *examination) readConfig() {
	cfg, err := x.env.LoadConfig()
	if err != nil {
		x.fail(configuration, err)
		return
	}
	x.cfg = cfg
	set := 0
	for _, s := range cfg.Settings() {
		if s.Source != "default" {
			set++
		}
	}
	x.ok(configuration, "no mistakes; %s set", view.Plural(set, "setting"))
}

// openStore opens the state directory without making it.
func (x *examination) openStore(prd string) {
	if x.cfg == nil {
		return
	}
	store, err := load.OpenStore(x.env, x.cfg, load.PipelineRef{PRD: prd})
	switch {
	case advice.IsA[*advice.UsageError](err) && prd == "":
		x.add(stateDirectory, info.NotChecked, "`runner doctor PRD` checks that of a PRD", "%v", err)
	case err != nil:
		x.fail(stateDirectory, err)
	default:
		x.store = store
	}
}

// safety looks for a restore of a safety checkpoint that was interrupted.
func (x *examination) safety(context.Context) {
	if x.store == nil {
		return
	}
	const check = "safety checkpoints"
	half, err := x.store.Safety().Interrupted()
	switch {
	case err != nil:
		x.fail(check, err)
	case half == nil:
		x.ok(check, "no restore was interrupted")
	default:
		x.add(check, info.Problem, advice.UnfinishedRestore(*half), "the restore of %s was interrupted", half.ID)
	}
}
