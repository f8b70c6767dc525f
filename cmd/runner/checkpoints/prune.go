package checkpoints

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/prune"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner/view"
)

type pruneOptions struct {
	prd       string
	olderThan time.Duration
	refsOf    string // id of another state directory
	dryRun    bool
	yes       bool
	json      bool
}

func newPruneCommand(env *cli.Environment) *cobra.Command {
	var o pruneOptions
	cmd := &cobra.Command{
		Use:   "prune [PRD]",
		Short: "Remove checkpoints and sessions that are no longer kept",
		Long: `Remove the checkpoints that the retention settings no longer keep, sessions that
were archived long ago, and objects that nothing needs any more; without PRD, of
all PRDs. Pinned checkpoints, the newest valid checkpoint, and whatever a kept
checkpoint or session needs are never removed.

Captures in git that another state directory made are not removed, because Runner
cannot know whether that directory still exists. --dry-run lists the IDs of such
directories; if one is gone, --refs-of ID removes its captures.`,
		Example: `  runner checkpoint prune --dry-run
  runner checkpoint prune PRD-009 --older-than 24h --yes`,
		Args: cli.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = cli.FirstArgument(args)
			if cmd.Flags().Changed("older-than") && o.olderThan <= 0 {
				return advice.Usagef("--older-than must be more than 0")
			}
			return runPrune(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.DurationVar(&o.olderThan, "older-than", 0, "remove what is older than `AGE`, such as 72h, instead of the ages in the configuration")
	flags.StringVar(&o.refsOf, "refs-of", "", "remove from git the captures of the state directory with this `ID`, which no longer exists")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show what would be removed and why, and change nothing")
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("older-than", "refs-of")
	return cmd
}

func runPrune(ctx context.Context, env *cli.Environment, o pruneOptions) (err error) {
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	store, err := load.OpenStore(env, cfg, load.PipelineRef{PRD: o.prd})
	if err != nil {
		return err
	}
	prds, err := prunable(env, cfg, store, o.prd)
	if err != nil {
		return err
	}
	w, err := load.OpenWorkspace(ctx, env, cfg, store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if o.refsOf != "" {
		return runPruneRefs(ctx, env, store, w, o)
	}
	p := &pruning{env: env, cfg: cfg, store: store, files: w, o: o, Prune: info.Prune{DryRun: o.dryRun, Reasons: o.dryRun && o.olderThan > 0}}
	if err := p.planAll(ctx, prds); err != nil {
		return err
	}
	if o.dryRun {
		if err := p.findForeign(ctx); err != nil {
			return err
		}
		return errors.Join(p.printResult(), p.refused)
	}
	if err := p.carryOut(ctx); err != nil {
		return err
	}
	return errors.Join(p.printResult(), p.refused)
}

// printResult prints the result of the command, or of the dry run.
func (p *pruning) printResult() error {
	if p.o.json {
		return show.JSON(p.env.Stdout, p.Report())
	}
	return show.Prune(p.env.Stdout, p.env.CommandLine, &p.Prune, p.o.dryRun)
}

// prunable returns the PRDs to prune.
func prunable(env *cli.Environment, cfg *config.Config, store *checkpoint.Store, prd string) ([]string, error) {
	if prd == "" {
		return store.Reader().Known()
	}
	return []string{prd}, load.CheckPRD(env, cfg, prd)
}

// pruning is one run of the command.
type pruning struct {
	env   *cli.Environment
	cfg   *config.Config
	store *checkpoint.Store
	files *workspace.Workspace
	o     pruneOptions
	info.Prune
	refused error // the error of the first PRD that was skipped

	finishing sync.Mutex // held to finish a rollback or an import: that prints messages, and may need the whole state directory
}

// planAll finds what would be removed. It skips a PRD that a run owns.
func (p *pruning) planAll(ctx context.Context, prds []string) error {
	p.Owned = map[string]error{}
	free := make([]string, 0, len(prds))
	for _, prd := range prds {
		if holder, err := p.store.Owner(prd); err != nil {
			return err
		} else if holder != nil {
			p.refuse(prd, advice.LockedBy(prd, *holder))
			continue
		}
		free = append(free, prd)
	}
	plans, errs := prune.PlanAll(ctx, p.store, free, prune.Options{OlderThan: p.o.olderThan})
	for i, prd := range free {
		plan, err := plans[i], errs[i]
		switch {
		case errors.Is(err, checkpoint.ErrNoSession) && p.o.prd != "":
			return load.NoSession(p.env, p.store, prd)
		case err != nil && p.o.prd != "":
			return err
		case err != nil:
			p.passOver(prd, err)
			continue
		}
		p.Pruned = append(p.Pruned, plan)
	}
	if checkpoints, sessions := p.Count(); p.o.yes && !p.o.dryRun && checkpoints+sessions > 0 {
		return nil // the result of the collection is shown afterwards
	}
	done, err := prune.PlanCollect(ctx, p.store, p.files, p.Pruned...)
	return takeCollected(p.env, &p.Objects, done, err)
}

func (p *pruning) refuse(prd string, err error) {
	p.Owned[prd] = err
	p.keepFirstError(err)
}

// passOver records a warning about a PRD that can't be read. The other PRDs are still
// pruned.
func (p *pruning) passOver(prd string, err error) {
	p.Pruned = append(p.Pruned, &prune.Pruned{PRD: prd, Warnings: []string{p.env.Localize(err.Error())}})
	if advice.IsA[*state.DamagedError](err) {
		err = ErrDamageShown
	}
	p.keepFirstError(err)
}

// keepFirstError makes the command return an error at its end: the first one recorded.
func (p *pruning) keepFirstError(err error) {
	if p.refused == nil {
		p.refused = err
	}
}

// carryOut asks, prunes, and collects.
func (p *pruning) carryOut(ctx context.Context) error {
	checkpoints, sessions := p.Count()
	if checkpoints+sessions > 0 {
		if !p.o.yes {
			if err := show.Prune(p.env.Stderr, p.env.CommandLine, &p.Prune, true); err != nil {
				return err
			}
		}
		var what []string
		if checkpoints > 0 {
			what = append(what, view.Plural(checkpoints, "checkpoint"))
		}
		if sessions > 0 {
			what = append(what, view.Plural(sessions, "archived session"))
		}
		if err := cli.Confirm(ctx, p.env.Terminal(), p.o.yes, "Remove "+strings.Join(what, " and ")+"?"); err != nil {
			return err
		}
	}
	if err := p.pruneAll(ctx); err != nil {
		return err
	}
	if checkpoints+sessions+p.Objects.Count() == 0 {
		return nil
	}
	return collect(ctx, p.env, p.store, p.files, &p.Objects)
}

// pruneAll prunes the planned PRDs, twice as many at once as there are CPUs, because
// pruning mostly waits for the disk or for a lock. It skips PRDs that another process has
// locked in the meantime. After any other error it starts with no further PRD.
func (p *pruning) pruneAll(ctx context.Context) error {
	locked := make([]error, len(p.Pruned))
	var failed atomic.Bool
	var all errgroup.Group
	all.SetLimit(2 * runtime.GOMAXPROCS(0))
	for i, plan := range p.Pruned {
		if len(plan.Checkpoints)+len(plan.Sessions) == 0 {
			continue
		}
		all.Go(func() error {
			if failed.Load() {
				return nil
			}
			done, err := p.pruneOne(ctx, plan)
			switch {
			case advice.IsA[*checkpoint.LockedError](err):
				locked[i] = err
			case err != nil:
				failed.Store(true)
				return err
			default:
				p.Pruned[i] = done
			}
			return nil
		})
	}
	err := all.Wait()
	for i, plan := range p.Pruned {
		if why := locked[i]; why != nil {
			p.refuse(plan.PRD, why)
			p.Pruned[i] = &prune.Pruned{PRD: plan.PRD, Kept: plan.Kept + len(plan.Checkpoints), Warnings: []string{p.env.Localize(why.Error())}}
		}
	}
	return err
}

// pruneOne prunes one PRD. It first finishes a rollback or an import that was cut short;
// p.finishing allows that for one PRD at a time.
func (p *pruning) pruneOne(ctx context.Context, plan *prune.Pruned) (done *prune.Pruned, err error) {
	t := &change.Target{Env: p.env, Store: p.store, PRD: plan.PRD}
	t.Finish = func(ctx context.Context, session *checkpoint.Session) (*change.FinishedRollback, error) {
		p.finishing.Lock()
		defer p.finishing.Unlock()
		return t.FinishEarlier(ctx, session)
	}
	record := checkpoint.AuditRecord{What: "checkpoint prune"}
	if p.o.olderThan > 0 {
		record.Args = []state.Text{"--older-than", state.Text(p.o.olderThan.String())}
	}
	err = t.Change(ctx, &record, func(session *checkpoint.Session) (err error) {
		done, err = prune.Run(ctx, session, prune.Options{OlderThan: p.o.olderThan, Planned: plan})
		done.AddTo(&record)
		return err
	})
	return done, err
}
