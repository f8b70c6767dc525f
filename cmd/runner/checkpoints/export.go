package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/text"
	"prdrunner/checkpoint/transfer"
	"prdrunner/checkpoint/workspace"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/config"
	"prdrunner/cmd/runner/exchange"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/runner/view"
)

type exportOptions struct {
	prd     string
	session string // id of an archived session; "": the current one
	out     string
	logs    bool
	force   bool
	format  string // of another tool; "": an archive
	json    bool
}

func newExportCommand(env *cli.Environment) *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export PRD",
		Short: "Export a session to a file, also as the checkpoints of other tools",
		Long: `Export the current session to a file, so that another machine can resume it with
"runner checkpoint import". The file is an archive of the journal, the
checkpoints, and the bytes of all captured files, including those that git
stores. The same state gives the same bytes.

Files that look sensitive are not exported, unless git tracks them. Values of
sensitive variables are never exported, and logs only with --logs. If stored
bytes are lost or damaged, they are taken from a file of the workspace with the
same content. If there is none, nothing is exported; --force exports the rest.

Without -o, the archive is written to exports/ in the directory of the PRD. With
-o, the name decides the compression: .tar.gz, .tgz, .tar.zst or .tar. An existing
file is replaced only if it is an export archive and not an artifact.

--session exports an archived session; "runner checkpoint list --all" shows them.
To make it the current session again, import it with --replace, which archives
the session that is current now.

--format writes the checkpoints of another tool instead of an archive, for that
tool to read: prd (the PRD document) and orchestrate are files, go-team and crunch
are directories. They hold less than an archive; what has no place in them is listed.`,
		Example: `  runner checkpoint export PRD-009
  runner checkpoint export PRD-009 -o cashier.tar.zst
  runner checkpoint export PRD-009 -o - | ssh build-2 runner -C cashier checkpoint import -
  runner checkpoint export PRD-009 --format crunch -o .claude/crunch/42/checkpoints`,
		Args: cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = args[0]
			if o.format != "" {
				return exchange.Export(cmd.Context(), env, exchange.ExportOptions{PRD: o.prd, Session: o.session, Format: o.format, Out: o.out, JSON: o.json})
			}
			return runExport(cmd.Context(), env, o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&o.out, "out", "o", "", "write to `FILE`; - is standard output")
	flags.StringVar(&o.session, "session", "", "export the archived session with this `ID`, or the beginning of one")
	flags.BoolVar(&o.logs, "logs", false, "export the logs too")
	flags.BoolVar(&o.force, "force", false, "export although bytes are lost, and list what is missing")
	flags.StringVar(&o.format, "format", "", "write the checkpoints of another tool: `FORMAT` is prd, go-team, orchestrate or crunch")
	flags.BoolVar(&o.json, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("format", "logs")
	cmd.MarkFlagsMutuallyExclusive("format", "force")
	return cmd
}

func runExport(ctx context.Context, env *cli.Environment, o exportOptions) error {
	to, err := o.target(env)
	if err != nil {
		return err
	}
	store, st, err := o.source(env)
	if err != nil {
		return err
	}
	if to.Path != "" {
		if err := checkReplaced(ctx, env, st, o.out, to.Path); err != nil {
			return err
		}
	}
	return load.WithWorkspace(ctx, env, store, func(_ *config.Config, w *workspace.Workspace) error {
		done, err := transfer.Export(ctx, store, w, o.prd, to)
		if advice.IsA[*transfer.LackingError](err) {
			return advice.With(err, fmt.Sprintf("`runner checkpoint rebuild %s` may repair it; --force exports the rest, and lists what is missing", o.prd))
		}
		if err != nil {
			return err
		}
		warnUndeclared(ctx, env, store, w, st)
		warnCalls(env, store, st)
		switch {
		case o.json:
			return show.JSON(env.Stdout, info.NewExportReport(done))
		case o.out == advice.StandardStream:
			return show.Exported(env.Stderr, env.CommandLine, st, done)
		}
		return show.Exported(env.Stdout, env.CommandLine, st, done)
	})
}

// source returns the store and the state of the session to export.
func (o exportOptions) source(env *cli.Environment) (*checkpoint.Store, *state.State, error) {
	if o.session == "" {
		return load.State(env, o.prd)
	}
	store, err := load.OpenAnyStore(env, o.prd)
	if err != nil {
		return nil, nil, err
	}
	at, err := store.Reader().ArchivedSession(o.prd, o.session)
	if err != nil {
		return nil, nil, advice.With(&advice.UsageError{Err: err}, fmt.Sprintf("`runner checkpoint list %s --all` shows them", o.prd))
	}
	return store, at.State, nil
}

// target returns where the archive goes, and how it is compressed.
func (o exportOptions) target(env *cli.Environment) (transfer.ExportOptions, error) {
	to := transfer.ExportOptions{Format: bundle.Gzip, Logs: o.logs, Force: o.force, Session: o.session}
	switch {
	case o.out == advice.StandardStream && o.json:
		return to, advice.Usagef("--json and -o - both want standard output")
	case o.out == advice.StandardStream:
		to.Out = env.Stdout.Raw
	case o.out != "":
		format, known := bundle.FormatOf(o.out)
		if !known {
			return to, advice.With(advice.Usagef("-o %s: the name does not say how to compress", o.out), "let it end with .tar.gz, .tar.zst or .tar")
		}
		to.Path, to.Format = env.Path(o.out), format
		return to, checkRoom(env, o.out, to.Path)
	}
	return to, nil
}

// checkReplaced refuses to replace an existing file, unless it is an archive that an
// export wrote and no artifact of a workstream.
func checkReplaced(ctx context.Context, env *cli.Environment, st *state.State, name, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("-o %s: %w", name, err)
	case !info.Mode().IsRegular():
		return advice.With(advice.Usagef("-o %s: %s is not a regular file", name, env.Display(path)), "`-o -` writes to standard output; else name a file that does not exist")
	}
	const hint = "name another file, or remove that one first"
	if rel := env.InWorkspace(path); rel != "" {
		for w := range st.Records() {
			if slices.ContainsFunc(w.Artifacts, func(a state.Artifact) bool { return string(a.Path) == rel }) {
				return advice.With(advice.Usagef("-o %s: %s is an artifact of %s", name, env.Display(path), w.Name), hint)
			}
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return advice.With(advice.Usagef("-o %s: what it would replace can't be read: %v", name, err), hint)
	}
	archive := bundle.IsArchive(ctx, f)
	if err := f.Close(); err != nil {
		return fmt.Errorf("-o %s: %w", name, err)
	}
	if !archive {
		return advice.With(advice.Usagef("-o %s: %s exists, and is no archive that an export wrote", name, env.Display(path)), hint)
	}
	return nil
}

// checkRoom checks that a file can be written at a path, before the export does its work.
func checkRoom(env *cli.Environment, name, path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return advice.With(advice.Usagef("-o %s: %s is a directory", name, env.Display(path)), "name a file in it: -o "+text.ShellWord(env.Display(filepath.Join(path, "session.tar.gz"))))
	}
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil, !errors.Is(err, fs.ErrNotExist):
		return advice.With(advice.Usagef("-o %s: %s is not a directory", name, env.Display(dir)), "name a file in a directory")
	}
	return advice.With(advice.Usagef("-o %s: there is no directory %s", name, env.Display(dir)), "make it first: `mkdir -p "+text.ShellWord(dir)+"`")
}

// warnCalls warns of the sessions of called pipelines that the session is to continue. The
// archive does not hold them.
func warnCalls(env *cli.Environment, store *checkpoint.Store, st *state.State) {
	calls := map[string]bool{}
	for w := range st.Records() {
		if w.Call != "" && !w.Done() {
			calls[w.Call] = true
		}
	}
	if len(calls) == 0 {
		return
	}
	prds, err := store.Reader().PRDs()
	if err != nil {
		return
	}
	var ongoing []string
	for _, prd := range prds {
		if !strings.HasPrefix(prd, st.PRD+".") {
			continue
		}
		current, err := store.Reader().Current(prd)
		if err == nil && current.State != nil && current.State.Caller != nil && calls[current.State.Caller.Call] {
			ongoing = append(ongoing, prd)
		}
	}
	if len(ongoing) > 0 {
		fmt.Fprintf(env.Stderr, "Warning: not exported, though %s needs them to go on elsewhere: the sessions of its called pipelines (%s); export and import each of them as well, as with `%s`\n",
			st.PRD, text.Enumerate(ongoing), env.Command("checkpoint export "+ongoing[0]))
	}
}

// warnUndeclared warns of files that the archive lacks because they were not captured. It
// also warns if the archive holds only the files that the pipeline declares, because the
// session may need other files elsewhere.
func warnUndeclared(ctx context.Context, env *cli.Environment, store *checkpoint.Store, w *workspace.Workspace, st *state.State) {
	if st.Capture == nil {
		return
	}
	l, err := w.Load(ctx, st.Capture.Listing)
	if err != nil {
		return
	}
	for _, path := range l.Unstable {
		fmt.Fprintf(env.Stderr, "Warning: not exported, since it kept changing while it was captured: %s\n", view.OneLine(path))
	}
	for _, path := range l.Special {
		fmt.Fprintf(env.Stderr, "Warning: not exported, since it cannot be read, is not a regular file, is larger than 64 GiB, or is another repository: %s\n", view.OneLine(path))
	}
	if st.Capture.Unlimited(l.Patterns) {
		return
	}
	create := env.Command("checkpoint create " + st.PRD)
	if slices.Equal(store.Including(l.Patterns), l.Patterns) {
		fmt.Fprintf(env.Stderr, "Warning: outside git, Runner captures, and so exports, only files that the pipeline declares or workspace.include names; to export all files, set workspace.include: [\"**\"], run `%s`, and export again\n", create)
		return
	}
	fmt.Fprintf(env.Stderr, "Warning: workspace.include was changed after the last capture, so that files which it names now are not exported; to export them, run `%s`, and export again\n", create)
}
