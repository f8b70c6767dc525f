package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/repair"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/validate"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/config"
	"prdrunner/runner/view"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

type checkpointRebuildOptions struct {
	prd        string
	references []string
	journal    bool
	dryRun     bool
	yes        bool
	json       bool
}

// rebuiltCheckpoints is what `checkpoint rebuild --json` prints.
type rebuiltCheckpoints struct {
	FormatVersion string                     `json:"format_version"`
	PRD           string                     `json:"prd"`
	DryRun        bool                       `json:"dry_run"`
	Rebuilt       []repair.RebuiltCheckpoint `json:"rebuilt"`
}

// rebuiltJournal is what `checkpoint rebuild --journal --json` prints.
type rebuiltJournal struct {
	FormatVersion string               `json:"format_version"`
	PRD           string               `json:"prd"`
	DryRun        bool                 `json:"dry_run"`
	Session       string               `json:"session"`
	From          string               `json:"from_checkpoint,omitempty"` // "": the last commit before the damage
	FromSeq       uint64               `json:"from_seq"`
	Step          int                  `json:"step"`
	Seq           uint64               `json:"seq"`
	Lost          []repair.LostCommit  `json:"lost"`
	Untold        int                  `json:"unreadable_commits"`
	Rollbacks     []repair.MetRollback `json:"rollbacks"`
	Import        *disk.PendingImport  `json:"import_given_up,omitempty"`
	Uncertain     []string             `json:"uncertain"`
	Gone          []string             `json:"checkpoints_gone"`
	Kept          state.Text           `json:"kept,omitempty"`
}

func newCheckpointRebuildCommand(env *environment) *cobra.Command {
	var o checkpointRebuildOptions
	cmd := &cobra.Command{
		Use:   "rebuild PRD [CHECKPOINT]...",
		Short: "Repair damaged checkpoints or a damaged journal",
		Long: `Repair damaged checkpoints: write their files again from the journal, and restore
lost objects from git or from files of the workspace with the same content. The
damaged files are kept next to the journal.

With --journal, repair a damaged journal: start a new one from the newest state
that is intact, in a checkpoint file or in the journal before the damage.
Everything recorded after that state is lost, and is listed as far as it can be
read. The damaged journal is kept.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.journal {
				return arguments(1, 1)(cmd, args)
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd, o.references = args[0], args[1:]
			if o.journal {
				return runRebuildJournal(cmd.Context(), env, o)
			}
			return runCheckpointRebuild(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.journal, "journal", false, "repair a damaged journal; everything after its newest intact state is lost")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show what would be done, and change nothing")
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runCheckpointRebuild(ctx context.Context, env *environment, o checkpointRebuildOptions) error {
	store, st, err := loadState(env, o.prd)
	if advice.IsA[*state.DamagedError](err) {
		return advice.With(err, "`runner checkpoint rebuild "+o.prd+" --journal` starts a new journal")
	}
	if err != nil {
		return err
	}
	return withFiles(ctx, env, store, func(_ *config.Config, w *workspace.Workspace) error {
		if o.dryRun {
			found, err := validate.Run(ctx, store, w, validate.Options{PRD: o.prd, Refs: o.references, Deep: true})
			if err != nil {
				return advice.UnknownReference(o.prd, err)
			}
			if err := found.Unread(); err != nil {
				return fmt.Errorf("rebuild checkpoints of %s: %w", o.prd, err)
			}
			return writeRebuilt(env, o, wouldRebuild(found))
		}
		for _, reference := range o.references { // before the change, which may finish a rollback or an import
			if _, err := stateFinished(ctx, store, st).FindCheckpoint(reference); err != nil {
				return advice.UnknownReference(o.prd, fmt.Errorf("find checkpoint %q of %s: %w", reference, o.prd, err))
			}
		}
		var rebuilt []repair.RebuiltCheckpoint
		record := checkpoint.AuditRecord{What: "checkpoint rebuild", Args: state.Texts(o.references)}
		t := &target{env: env, store: store, prd: o.prd, files: w}
		err = t.change(ctx, &record, func(session *checkpoint.Session) (err error) {
			rebuilt, err = repair.RebuildCheckpoints(ctx, session, w, o.references)
			auditRebuilt(&record, rebuilt)
			return err
		})
		if err != nil {
			return advice.UnknownReference(o.prd, err)
		}
		return writeRebuilt(env, o, rebuilt)
	})
}

// auditRebuilt adds to an audit record the checkpoints that were rebuilt, and their
// damage.
func auditRebuilt(record *checkpoint.AuditRecord, rebuilt []repair.RebuiltCheckpoint) {
	var why []string
	for i := range rebuilt {
		r := &rebuilt[i]
		record.IDs = append(record.IDs, r.ID)
		if len(r.Was) == 0 {
			why = append(why, "its file was missing")
		}
		for _, was := range r.Was {
			why = append(why, string(was))
		}
	}
	record.Because(why...)
}

// wouldRebuild returns the checkpoints of the current session for which a rebuild has
// something to do.
func wouldRebuild(found *validate.Validation) []repair.RebuiltCheckpoint {
	list := []repair.RebuiltCheckpoint{}
	for _, s := range found.Sessions {
		for i := range s.Checkpoints {
			c := &s.Checkpoints[i]
			if s.Place == disk.PlaceCurrent && c.Mendable() {
				list = append(list, repair.NewRebuilt(*c))
			}
		}
	}
	return list
}

func writeRebuilt(env *environment, o checkpointRebuildOptions, rebuilt []repair.RebuiltCheckpoint) error {
	damaged := slices.ContainsFunc(rebuilt, func(r repair.RebuiltCheckpoint) bool { return !r.Whole() || o.dryRun && len(r.Was) > 0 })
	if o.json {
		if err := writeJSON(env.stdout, rebuiltCheckpoints{outputFormat, o.prd, o.dryRun, rebuilt}); err != nil {
			return err
		}
	} else {
		showRebuilt(env, o, rebuilt)
	}
	if damaged {
		return errDamageShown
	}
	return nil
}

// showRebuilt shows the checkpoints that were damaged, and counts those whose files were
// only missing.
func showRebuilt(env *environment, o checkpointRebuildOptions, rebuilt []repair.RebuiltCheckpoint) {
	if len(rebuilt) == 0 {
		fmt.Fprintln(env.stdout, "Nothing is damaged")
	}
	missing := 0
	var said repeatedText
	for i := range rebuilt {
		if r := &rebuilt[i]; len(r.Was) > 0 || !r.Whole() {
			showMended(env, o, r, &said)
		} else {
			missing++
		}
	}
	switch {
	case missing > 0 && o.dryRun:
		fmt.Fprintf(env.stdout, "! %s without a file: it would be made again from the journal\n", view.Plural(missing, "checkpoint"))
	case missing > 0:
		fmt.Fprintf(env.stdout, "✓ %s without a file: it was made again from the journal\n", view.Plural(missing, "checkpoint"))
	}
}

// showMended shows how a damaged checkpoint was rebuilt, or would be.
func showMended(env *environment, o checkpointRebuildOptions, r *repair.RebuiltCheckpoint, said *repeatedText) {
	made := "its file was made again from the journal"
	switch {
	case o.dryRun:
		made = "its file would be made again from the journal"
		fmt.Fprintf(env.stdout, "✗ %s: %s\n", r.ID, view.OneLine(said.again(joined(r.Was))))
	case r.Whole():
		fmt.Fprintf(env.stdout, "✓ %s is whole\n", r.ID)
	default:
		fmt.Fprintf(env.stdout, "✗ %s cannot be rebuilt: %s\n", r.ID, view.OneLine(said.again(joined(r.Left))))
	}
	if r.Written {
		fmt.Fprintf(env.stdout, "  %s\n", made)
	}
	for _, path := range r.Kept {
		fmt.Fprintf(env.stdout, "  the damaged one is kept as %s\n", env.Display(string(path)))
	}
	for _, path := range r.Files {
		fmt.Fprintf(env.stdout, "  bytes restored: %s\n", view.OneLine(string(path)))
	}
}

func runRebuildJournal(ctx context.Context, env *environment, o checkpointRebuildOptions) error {
	store, err := openAnyStore(env, o.prd)
	if err != nil {
		return err
	}
	plan, err := repair.PlanJournalRebuild(store, o.prd)
	if err != nil {
		return rebuildHint(o.prd, err)
	}
	if o.dryRun {
		return writeRebuiltJournal(env, o, plan)
	}
	if !o.yes {
		showJournalRebuild(env, o, plan)
	}
	if err := confirm(ctx, env.terminal(), o.yes, fmt.Sprintf("Start a new journal of %s at step %d?", o.prd, plan.Step)); err != nil {
		return err
	}
	record := checkpoint.AuditRecord{What: "checkpoint rebuild --journal", PRD: o.prd}
	auditJournal(&record, plan)
	err = audited(env, store, &record, func() (err error) {
		plan, err = repair.RebuildJournal(ctx, store, o.prd, env.actor())
		if err == nil {
			auditJournal(&record, plan)
		}
		return err
	})
	if err != nil {
		return rebuildHint(o.prd, err)
	}
	return writeRebuiltJournal(env, o, plan)
}

// auditJournal adds to an audit record the checkpoint from which the new journal starts,
// the checkpoints that are gone, the rollbacks that were under way or began in a lost
// commit, and the damage.
func auditJournal(record *checkpoint.AuditRecord, r *repair.JournalRebuild) {
	record.Session, record.IDs, record.Reason = r.Session, nil, state.Text(r.Damage.Error())
	if r.From != "" {
		record.IDs = append(record.IDs, r.From)
	}
	record.IDs = append(record.IDs, r.Gone...)
	for _, met := range r.Rollbacks {
		record.IDs = append(record.IDs, met.ID)
	}
}

// rebuildHint adds to the error of a journal that is not rebuilt what the user can do
// instead.
func rebuildHint(prd string, err error) error {
	switch {
	case errors.Is(err, repair.ErrNotDamaged):
		return advice.With(&advice.UsageError{Err: err}, "`runner checkpoint validate "+prd+"` looks at the checkpoints")
	case advice.IsA[*state.DamagedError](err):
		return advice.With(err, "`runner abandon "+prd+"` archives all of it")
	}
	return err
}

func writeRebuiltJournal(env *environment, o checkpointRebuildOptions, r *repair.JournalRebuild) error {
	if !o.json {
		showJournalRebuild(env, o, r)
		return nil
	}
	result := rebuiltJournal{
		FormatVersion: outputFormat, PRD: o.prd, DryRun: o.dryRun, Session: r.Session, From: r.From, FromSeq: r.FromSeq, Step: r.Step,
		Seq: r.Seq, Lost: append([]repair.LostCommit{}, r.Lost...), Untold: r.Untold,
		Rollbacks: append([]repair.MetRollback{}, r.Rollbacks...), Import: r.Import, Uncertain: append([]string{}, r.Uncertain...), Gone: append([]string{}, r.Gone...),
	}
	if r.Kept != "" {
		result.Kept = state.Text(env.Display(r.Kept))
	}
	return writeJSON(env.stdout, result)
}

// showJournalRebuild shows what rebuilding the journal did, or would do.
func showJournalRebuild(env *environment, o checkpointRebuildOptions, r *repair.JournalRebuild) {
	out := env.stdout
	if r.Kept == "" && !o.dryRun {
		out = env.stderr // the preview belongs to the question
	}
	fmt.Fprintf(out, "Damaged: %s: %s\n", at(env, r.Damage), view.OneLine(r.Damage.Detail))
	from := "the last commit before the damage"
	if r.From != "" {
		from = r.From
	}
	fmt.Fprintf(out, "New journal: session %s at step %d, as of %s (commit %d)\n", r.Session, r.Step, from, r.FromSeq)
	for _, c := range r.Lost {
		fmt.Fprintf(out, "✗ Lost: commit %d, %s: %s\n", c.Seq, c.Time.UTC().Format(time.DateTime), view.OneLine(strings.Join(c.Events, ", ")))
	}
	if r.Untold > 0 {
		fmt.Fprintf(out, "✗ Lost: %s of which nothing can be read\n", view.Plural(r.Untold, "commit"))
	}
	if r.More && r.Untold+len(r.Lost) == 0 {
		fmt.Fprintf(out, "! If there was anything after commit %d, it cannot be read\n", r.FromSeq)
	}
	for _, id := range r.Gone {
		fmt.Fprintf(out, "✗ Lost: checkpoint %s\n", id)
	}
	for _, met := range r.Rollbacks {
		showMetRollback(out, env, o.prd, met)
	}
	if r.Import != nil {
		showGivenUp(out, env, r.State(), r.Import)
	}
	for _, name := range r.Uncertain {
		fmt.Fprintf(out, "! %s must happen only once and may have happened: it becomes uncertain\n", view.OneLine(name))
	}
	if r.Kept != "" {
		var b strings.Builder
		advice.WriteSuggestions(&b, env.CommandLine, advice.Suggest("status "+o.prd, "show its state"))
		advice.WriteSuggestions(&b, env.CommandLine, advice.Resume(r.State(), "", "resume from there")...)
		fmt.Fprintf(out, "The old files are kept in %s\nNext:\n%s", env.Display(r.Kept), b.String())
	}
}

// showMetRollback shows the fate of a rollback that was under way at the damage or began
// in a lost commit.
func showMetRollback(out io.Writer, env *environment, prd string, met repair.MetRollback) {
	switch met.End {
	case repair.RollbackCarriedOut:
		fmt.Fprintf(out, "The rollback to %s was finished\n", met.To)
	case repair.RollbackTakenBack:
		fmt.Fprintf(out, "The rollback to %s had failed, and nothing was rolled back\n", met.To)
	case repair.RollbackUnfinished:
		fmt.Fprintf(out, "! A rollback to %s was cut short: the next command that changes %s finishes it\n", met.To, prd)
	case repair.RollbackUntold:
		fmt.Fprintf(out, "! It is not known whether the rollback to %s was finished: the files are not changed, and the state is that before the rollback\n", met.To)
		fmt.Fprintf(out, "  %s   show what it would do now\n", env.Command("checkpoint rollback "+prd+" "+met.To+" --dry-run"))
	}
}
