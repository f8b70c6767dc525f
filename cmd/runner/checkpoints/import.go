package checkpoints

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/transfer"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/change"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/exchange"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner/view"
)

type importOptions struct {
	file      string
	adopt     string // the PRD to adopt; "" if a file is imported
	replace   bool
	stateOnly bool
	overwrite bool
	dryRun    bool
	yes       bool
	json      bool

	format   string           // of another tool; "": an archive
	pipeline load.PipelineRef // with format: whose session begins from the checkpoint
}

func newImportCommand(env *cli.Environment) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import [FILE]",
		Short: "Import a session from a file, also from the checkpoints of other tools",
		Long: `Import a session from an archive that "runner checkpoint export" wrote, make it the
current session of its PRD, and restore the captured files that the workspace
lacks. FILE can be - for standard input. The whole archive is verified first; if
anything in it is wrong, nothing is changed.

If the archive continues the current session, that session is brought up to date.
If the current session is another one, the import is refused; --replace archives
the current session. Files that differ are kept and listed; --overwrite makes a
checkpoint of them and replaces them.

--adopt takes over a session whose state git tracks, instead of one in a file.
Runner does not trust such a session, since it may have come with the repository,
and runs nothing until it is adopted. Its approvals are asked for again, its gates
are judged again, and its files are removed from git's index. Nothing else in the
index is changed.

--format takes over a checkpoint of another tool: a file (prd, orchestrate) or a
directory (go-team, crunch). It makes a PRD document of it, and the next "runner
build" begins a session from that, with the work that the checkpoint says is done.
Gates are judged again, except those that a PRD document says have passed. What a
session has no place for is listed.`,
		Example: `  runner checkpoint import PRD-009-5b2f168a-41.tar.gz
  runner -C elsewhere checkpoint import --dry-run cashier.tar.zst
  runner checkpoint import --adopt PRD-009
  runner checkpoint import --format crunch --prd PRD-009 .claude/crunch/42/checkpoints`,
		Annotations: map[string]string{cli.WorksHere: "true"},
		Args:        cli.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.file = env.FromWorkspace(cli.FirstArgument(args))
			switch {
			case o.format != "":
				return exchange.Import(cmd.Context(), env, exchange.ImportOptions{Format: o.format, Path: o.file, Pipeline: o.pipeline, DryRun: o.dryRun, JSON: o.json})
			case o.pipeline.PRD != "" || cmd.Flags().Changed("file") || cmd.Flags().Changed("var") || cmd.Flags().Changed("var-file"):
				return advice.With(advice.Usagef("--prd, --file, --var and --var-file go with --format"), "an archive names its PRD itself")
			case (o.file == "") == (o.adopt == ""):
				return advice.With(advice.Usagef("one of FILE and --adopt PRD is needed"), "name the archive that `runner checkpoint export` wrote, or the PRD whose state git tracks")
			case o.adopt != "":
				return runAdopt(cmd.Context(), env, o)
			}
			return runImport(cmd.Context(), env, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

// addFlags adds the flags of the command.
func (o *importOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.adopt, "adopt", "", "take over the session of `PRD` whose state git tracks")
	flags.BoolVar(&o.replace, "replace", false, "archive the current session if the imported one does not continue it")
	flags.BoolVar(&o.stateOnly, "state-only", false, "import the state only, and restore no files")
	flags.BoolVar(&o.overwrite, "overwrite", false, "replace files that differ, after a checkpoint of them")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show what would be done, and change nothing")
	flags.BoolVar(&o.yes, "yes", false, "do not ask")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	flags.StringVar(&o.format, "format", "", "take over a checkpoint of another tool: `FORMAT` is prd, go-team, orchestrate or crunch")
	flags.StringVar(&o.pipeline.PRD, "prd", "", "with --format: begin a session of `PRD`")
	o.pipeline.AddFlags(cmd)
	for _, name := range []string{"adopt", "replace", "state-only", "overwrite"} {
		cmd.MarkFlagsMutuallyExclusive("format", name)
	}
	cmd.MarkFlagsMutuallyExclusive("state-only", "overwrite")
	for _, name := range []string{"replace", "state-only", "overwrite"} {
		cmd.MarkFlagsMutuallyExclusive("adopt", name)
	}
}

func runImport(ctx context.Context, env *cli.Environment, o importOptions) (err error) {
	cfg, err := env.LoadConfig()
	if err != nil {
		return err
	}
	in, err := openArchive(ctx, env, o.file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	store, err := openStoreFor(ctx, env, cfg, o.file, in)
	if err != nil {
		return unsoundHint(in, err)
	}
	var archive *transfer.Import
	if o.dryRun {
		archive, err = transfer.PreviewImport(ctx, store, in, o.file, env.Workdir, bundle.Limits{})
	} else {
		archive, err = transfer.OpenImport(ctx, store, in, o.file, bundle.Limits{})
	}
	if err != nil {
		return unsoundHint(in, err)
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	return (&importing{env: env, cfg: cfg, store: store, archive: archive, importOptions: o}).importSession(ctx)
}

// ofOtherTools ends the hint about a file or directory that is no archive.
const ofOtherTools = "; --format prd|go-team|orchestrate|crunch takes over a checkpoint of another tool"

// unsoundHint adds to the error about a file that is no sound archive what the user can do.
func unsoundHint(in io.Reader, err error) error {
	if !advice.IsA[*bundle.DamagedError](err) {
		return err
	}
	hint := "nothing was changed; copy the archive here again, and compare its SHA-256 with the hash that `runner checkpoint export` printed"
	if !beginsAsArchive(in) {
		hint += ofOtherTools
	}
	return advice.With(err, hint)
}

// beginsAsArchive reports whether a file begins as a tar archive or a compressed one does.
// It is true for what can't be read again, such as standard input.
func beginsAsArchive(in io.Reader) bool {
	file, ok := in.(io.ReaderAt)
	if !ok {
		return true
	}
	const magicAt, magic = 257, "ustar" // in the first header of a tar archive
	head := make([]byte, magicAt+len(magic))
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return true
	}
	head = head[:n]
	return bytes.HasPrefix(head, []byte("\x1f\x8b")) || bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")) ||
		n > magicAt && bytes.HasPrefix(head[magicAt:], []byte(magic))
}

// openArchive opens the archive to import.
func openArchive(ctx context.Context, env *cli.Environment, name string) (io.ReadCloser, error) {
	if name == advice.StandardStream {
		return io.NopCloser(env.Input(ctx)), nil
	}
	const hint = "name the archive that `runner checkpoint export` wrote"
	f, err := os.OpenFile(env.Path(name), os.O_RDONLY|workspace.NonBlock, 0) // NonBlock: opening a pipe must not wait for its writer
	if err != nil {
		return nil, advice.With(&advice.UsageError{Err: err}, hint)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, errors.Join(advice.With(advice.Usagef("%s is a directory", name), hint+ofOtherTools), f.Close())
	}
	return f, nil
}

// openStoreFor opens the state directory to which an archive belongs. If there are several,
// it first reads the archive once to find the PRD and the issue.
func openStoreFor(ctx context.Context, env *cli.Environment, cfg *config.Config, name string, in io.Reader) (*checkpoint.Store, error) {
	if !cfg.StatePerPRD() {
		return load.OpenStore(env, cfg, load.PipelineRef{})
	}
	file, ok := in.(io.ReadSeeker)
	if !ok {
		return nil, advice.Usagef("the PRD of the archive decides on the state directory here, so that it can't come from standard input")
	}
	header, err := transfer.ReadHeader(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("import %s: %w", name, err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("import %s: %w", name, err)
	}
	if err := load.CheckPRD(env, cfg, header.PRD); err != nil {
		return nil, err
	}
	return load.OpenStore(env, cfg, load.PipelineRef{PRD: header.PRD, Issue: header.Issue})
}

// importing is one import of a verified archive.
type importing struct {
	importOptions
	env     *cli.Environment
	cfg     *config.Config
	store   *checkpoint.Store
	archive *transfer.Import
	w       *workspace.Workspace
	files   *transfer.ImportFiles // nil with --state-only
}

func (i *importing) importSession(ctx context.Context) (err error) {
	if !i.stateOnly {
		if i.w, err = load.GuardedWorkspace(ctx, i.env, i.cfg, i.store, i.archive.PRD); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, i.w.Close()) }()
		if i.files, err = i.archive.PlanFiles(ctx, i.w); err != nil {
			return err
		}
	}
	if done, err := i.preview(ctx); done || err != nil {
		return err
	}
	record := checkpoint.AuditRecord{
		What: "checkpoint import", PRD: i.archive.PRD,
		Session: i.archive.Session, Args: []state.Text{state.Text(i.file)},
	}
	result := info.NewImportReport(i.forShow())
	err = change.WithAudit(i.env, i.store, &record, func() error {
		err := i.carryOut(ctx, &result)
		if result.Safety != "" {
			record.IDs = []string{result.Safety}
		}
		return err
	})
	if err != nil {
		return importHint(i.archive.PRD, err)
	}
	if i.json {
		return show.JSON(i.env.Stdout, result)
	}
	return show.Imported(i.env.Stdout, i.env.CommandLine, i.forShow(), result)
}

// preview shows what the import would do, and asks if it archives a session or overwrites
// files. It reports whether the command is done after that.
func (i *importing) preview(ctx context.Context) (done bool, err error) {
	refused := i.refused()
	switch {
	case i.dryRun && i.json:
		return true, show.JSON(i.env.Stdout, info.NewImportReport(i.forShow()))
	case i.dryRun:
		return true, errors.Join(show.ImportPreview(i.env.Stdout, i.env.CommandLine, i.forShow()), importHint(i.archive.PRD, refused))
	case refused != nil:
		return true, importHint(i.archive.PRD, refused)
	}
	question, err := i.question()
	if err != nil || question == "" {
		return false, err
	}
	if !i.yes {
		if err := show.ImportPreview(i.env.Stderr, i.env.CommandLine, i.forShow()); err != nil {
			return false, err
		}
	}
	return false, cli.Confirm(ctx, i.env.Terminal(), i.yes, question)
}

// forShow returns the import as the views show it.
func (i *importing) forShow() info.Import {
	return info.Import{Archive: i.archive, Files: i.files, DryRun: i.dryRun, Refused: i.refused() != nil}
}

// refused returns why the import is refused, nil if it is not.
func (i *importing) refused() error {
	if i.replace || !i.conflicts() {
		return nil
	}
	return &transfer.ImportConflictError{PRD: i.archive.PRD, Relation: i.archive.Relation, Here: i.archive.Here}
}

// conflicts reports whether there is a session here that the archive's session does not
// continue.
func (i *importing) conflicts() bool {
	switch i.archive.Relation {
	case journal.RelationNew, journal.RelationEqual, journal.RelationSame, journal.RelationForward:
		return false
	case journal.RelationOlder, journal.RelationDiverged, journal.RelationForeign, journal.RelationDamaged:
	}
	return true
}

// question returns the question that the user must agree to, "" if nothing would be lost.
func (i *importing) question() (string, error) {
	if i.conflicts() {
		return fmt.Sprintf("Archive the session of %s that is here, and take this one?", i.archive.PRD), nil
	}
	if i.files == nil || len(i.files.Differ) == 0 || !i.overwrite {
		return "", nil // the import loses nothing
	}
	if repeated, err := i.isRepeated(); err != nil || repeated {
		return "", err
	}
	return fmt.Sprintf("Write %s into this directory, and overwrite %s?", view.Plural(len(i.files.Absent), "file"), view.Plural(len(i.files.Differ), "file")), nil
}

// isRepeated reports whether the same import was begun and cut short. The user has agreed
// to it then.
func (i *importing) isRepeated() (bool, error) {
	p, err := i.store.Layout().InterruptedImport(i.archive.PRD)
	return p != nil && p.Session == i.archive.Session && p.Seq == i.archive.Seq && (p.Overwrite || !i.overwrite), err
}

// carryOut installs the session, and then restores its files.
func (i *importing) carryOut(ctx context.Context, result *info.ImportReport) error {
	placed, err := i.archive.Place(ctx, i.env.Actor(), transfer.PlaceOptions{Replace: i.replace, Files: i.files, Overwrite: i.overwrite})
	if err != nil {
		return err
	}
	result.Relation, result.Archived, result.Uncertain = placed.Relation, placed.Archived, placed.Uncertain
	if i.files == nil {
		return nil
	}
	cli.AnnounceRestore(i.env, i.toWrite(), i.json)
	restored, err := transfer.RestoreImported(ctx, i.store, i.w, i.archive.PRD, i.files, i.env.Actor(), i.overwrite)
	if restored != nil {
		result.AddRestored(restored)
	}
	load.SaveCache(i.env, i.w)
	return err
}

// toWrite returns the number of files to restore.
func (i *importing) toWrite() int {
	if !i.overwrite {
		return len(i.files.Absent)
	}
	return len(i.files.Absent) + len(i.files.Differ)
}

// importHint adds to the error of a refused import what the user can do.
func importHint(prd string, err error) error {
	var conflict *transfer.ImportConflictError
	if advice.IsA[*checkpoint.UnfinishedRollbackError](err) || advice.IsA[*checkpoint.UnfinishedReturnError](err) {
		return advice.Rollback(prd, err)
	}
	if !errors.As(err, &conflict) {
		return advice.Locked(prd, err)
	}
	hint := "--replace archives it under failed/, or in its history if it is complete, and takes this one"
	if conflict.Relation == journal.RelationOlder {
		hint = "--replace archives it and takes the older one"
		for _, s := range advice.Resume(conflict.Here, "", "resumes it") {
			hint = fmt.Sprintf("`runner %s` %s; %s", s.Command, s.Purpose, hint)
		}
	}
	return advice.With(&advice.UsageError{Err: err}, hint)
}
