package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prdrunner/checkpoint/ledger"
	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/load"
	"prdrunner/cmd/runner/show"
	"prdrunner/cmd/runner/words"
	"prdrunner/pipeline"
	"prdrunner/runner/report"
)

// The variables that Runner sets for the processes of a workstream.
const (
	prdVariable    = "RUNNER_PRD"
	reportVariable = "RUNNER_REPORT"
)

// maxReportWait is how long a report waits until it is on record.
const maxReportWait = time.Minute

type reportOptions struct {
	report ledger.Report
	stdout bool
	noWait bool
}

// newReportCommand returns the group of commands with which the process of a workstream
// reports.
func newReportCommand(env *cli.Environment) *cobra.Command {
	cmd := cli.NewGroup("report", "Report from within a workstream",
		newReportNoteCommand(env),
		newReportMessageCommand(env),
		newReportConflictCommand(env),
		newReportKnowledgeCommand(env),
		newReportMetricCommand(env),
		newReportOutputCommand(env),
		newReportStateCommand(env),
		newReportCheckpointCommand(env),
	)
	cmd.Long = `Report from within a workstream: the process that Runner started calls these
commands. Each returns as soon as the report is on record. If Runner refuses the
report, the command says why and exits 2; the workstream goes on.

Any program can report without these commands. It appends a JSON object per line
to the file that RUNNER_REPORT names:

  {"type":"note","kind":"key_fix","file":"api.go","change":"check the length"}

Where that file can't be reached, as in a container, set report = "stdout" in the
workstream: then lines of standard output that begin with ` + report.Prefix + `
are reports. --stdout prints such a line.`
	return cmd
}

// addFlags adds the flags that all reports have.
func (o *reportOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.stdout, "stdout", false, "print the report as a line for a workstream with report = \"stdout\"")
	cmd.Flags().BoolVar(&o.noWait, "no-wait", false, "do not wait until the report is on record")
}

func newReportNoteCommand(env *cli.Environment) *cobra.Command {
	o := reportOptions{report: ledger.Report{Type: ledger.TypeNote}}
	cmd := &cobra.Command{
		Use:   "note",
		Short: "Note a change for the PRD document",
		Long: `Note a change that was made on the way. The PRD document lists notes of the kind
eslint_fix in eslint_fixes, key_fix in key_fixes, and cleanup in cleanup_done.`,
		Example: `  runner report note --kind eslint_fix --file app.ts --change "removed any"`,
		Args:    cli.Arguments(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runReport(cmd.Context(), env, o) },
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().Var(cli.NewEnum(&o.report.Kind, ledger.NoteESLintFix, ledger.NoteKeyFix, ledger.NoteCleanup), "kind", "`KIND` of the change: "+words.OneOf([]string{ledger.NoteESLintFix, ledger.NoteKeyFix, ledger.NoteCleanup}))
	cmd.Flags().StringVar((*string)(&o.report.File), "file", "", "the `FILE` that was changed")
	cmd.Flags().StringVar((*string)(&o.report.Change), "change", "", "`TEXT` that says what was changed")
	o.addFlags(cmd)
	return cmd
}

func newReportMessageCommand(env *cli.Environment) *cobra.Command {
	o := reportOptions{report: ledger.Report{Type: ledger.TypeMessage}}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "message",
		Short: "Send a message to another agent, or list the messages",
		Long: `Send a message to another agent, or change one that exists. Runner delivers
nothing: it keeps messages, so that a later attempt or another workstream finds
those that are pending. Without --id, the command lists all messages.`,
		Example: `  runner report message --id MSG-1 --to reviewer --body "please check the totals"
  runner report message --id MSG-1 --status done --response "they are correct"`,
		Args: cli.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.report.ID == "" {
				return runReportList(env, asJSON, "messages", func(l *ledger.Ledgers) map[string]ledger.Message { return l.Messages }, show.MessageLines)
			}
			return runReport(cmd.Context(), env, o)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&o.report.ID, "id", "", "the `ID` of the message")
	cmd.Flags().StringVar(&o.report.To, "to", "", "the `AGENT` that it is for")
	cmd.Flags().StringVar((*string)(&o.report.Body), "body", "", "the `TEXT` of the message")
	cmd.Flags().Var(cli.NewEnum((*string)(&o.report.Status), string(ledger.Pending), string(ledger.Awaiting), string(ledger.Done)), "status", "how far it is: pending, awaiting (a response) or done; default for a new one: pending")
	cmd.Flags().StringVar((*string)(&o.report.Response), "response", "", "the `TEXT` of the response")
	cmd.Flags().BoolVar(&asJSON, "json", false, "list the messages as one JSON object")
	o.addFlags(cmd)
	return cmd
}

func newReportConflictCommand(env *cli.Environment) *cobra.Command {
	o := reportOptions{report: ledger.Report{Type: ledger.TypeConflict}}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "conflict [start|resolved]",
		Short: "Record a conflict between agents, or list the conflicts",
		Long: `Record that a conflict between agents starts, or is resolved. Both make a
checkpoint; when the command returns, it is on record. Without an argument, the
command lists all conflicts.`,
		Example: `  runner report conflict start --id CONF-1 --parties architect,tester --reason "naming"
  runner report conflict resolved --id CONF-1 --reason "snake_case"`,
		Args:      cli.Arguments(0, 1),
		ValidArgs: []string{string(ledger.Start), string(ledger.Resolved)},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return runReportList(env, asJSON, "conflicts", func(l *ledger.Ledgers) map[string]ledger.Conflict { return l.Conflicts }, show.ConflictLines)
			}
			o.report.Status = ledger.Status(args[0])
			return runReport(cmd.Context(), env, o)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&o.report.ID, "id", "", "the `ID` of the conflict")
	cmd.Flags().StringSliceVar(&o.report.Parties, "parties", nil, "the `AGENTS` that disagree, separated by commas")
	cmd.Flags().StringVar((*string)(&o.report.Reason), "reason", "", "`TEXT` that says what it is about, or how it was resolved")
	cmd.Flags().StringVar((*string)(&o.report.State), "state", "", "`TEXT` that says what the debate has come to")
	cmd.Flags().BoolVar(&asJSON, "json", false, "list the conflicts as one JSON object")
	o.addFlags(cmd)
	return cmd
}

func newReportKnowledgeCommand(env *cli.Environment) *cobra.Command {
	o := reportOptions{report: ledger.Report{Type: ledger.TypeKnowledge}}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "knowledge [injected|captured|pending]",
		Short: "Record what was taken from or stored in a knowledge base, or list it",
		Long: `Record that an entry of a knowledge base was given to an agent (injected), that
one was stored there (captured), or that this is still to be done (pending). An
entry is captured only once for a PRD: a second capture is refused, in later
attempts, after a rollback and in later sessions, too. Report the capture before
the entry is stored; if the command exits 2, it must not be stored again. Without
an argument, the command lists all entries.`,
		Example:   `  runner report knowledge captured --id KE-7`,
		Args:      cli.Arguments(0, 1),
		ValidArgs: []string{string(ledger.Injected), string(ledger.Captured), string(ledger.Pending)},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return runReportList(env, asJSON, "knowledge", func(l *ledger.Ledgers) map[string]ledger.Knowledge { return l.Knowledge }, show.KnowledgeLines)
			}
			o.report.Status = ledger.Status(args[0])
			return runReport(cmd.Context(), env, o)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&o.report.ID, "id", "", "the `ID` of the entry")
	cmd.Flags().BoolVar(&asJSON, "json", false, "list the entries as one JSON object")
	o.addFlags(cmd)
	return cmd
}

func newReportMetricCommand(env *cli.Environment) *cobra.Command {
	o := reportOptions{report: ledger.Report{Type: ledger.TypeMetric}}
	cmd := &cobra.Command{
		Use:   "metric NAME VALUE",
		Short: "Set a metric of the workstream",
		Long: `Set a metric, as metric.NAME=VALUE in RUNNER_OUTPUT does. It counts once the
attempt has succeeded; what RUNNER_OUTPUT says has precedence.`,
		Example: `  runner report metric coverage 81.5`,
		Args:    cli.Arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.report.Name, o.report.Value = args[0], metricArgument(args[1])
			return runReport(cmd.Context(), env, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

// metricArgument returns the value of a metric as a report has it: a number, a boolean or
// a text.
func metricArgument(s string) any {
	switch s = strings.TrimSpace(s); s {
	case "true", "false":
		return s == "true"
	}
	if n, ok := pipeline.ParseNumber(s); ok && json.Valid([]byte(n)) {
		return n
	}
	return s
}

func newReportOutputCommand(env *cli.Environment) *cobra.Command {
	o := reportOptions{report: ledger.Report{Type: ledger.TypeOutput}}
	cmd := &cobra.Command{
		Use:   "output NAME VALUE",
		Short: "Set an output of the workstream",
		Long: `Set an output, as NAME=VALUE in RUNNER_OUTPUT does. It counts once the attempt
has succeeded; what RUNNER_OUTPUT says has precedence.`,
		Example: `  runner report output image app:1.4`,
		Args:    cli.Arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.report.Name, o.report.Value = args[0], args[1]
			return runReport(cmd.Context(), env, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func newReportStateCommand(env *cli.Environment) *cobra.Command {
	o := reportOptions{report: ledger.Report{Type: ledger.TypeState}}
	cmd := &cobra.Command{
		Use:     "state KEY [VALUE]",
		Short:   "Set a key of the session's state",
		Long:    `Set a key of the session's state, as "runner state set" does.`,
		Example: `  runner report state migration/last 0042`,
		Args:    cli.Arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.report.Unset == (len(args) == 2):
				return advice.With(advice.Usagef("give either a value or --unset"), "usage: "+cmd.UseLine())
			case len(args) == 2:
				o.report.Value = args[1]
			}
			o.report.Key = args[0]
			return runReport(cmd.Context(), env, o)
		},
	}
	cmd.Flags().BoolVar(&o.report.Unset, "unset", false, "remove the key")
	o.addFlags(cmd)
	return cmd
}

func newReportCheckpointCommand(env *cli.Environment) *cobra.Command {
	o := reportOptions{report: ledger.Report{Type: ledger.TypeCheckpoint}}
	cmd := &cobra.Command{
		Use:   "checkpoint",
		Short: "Make a checkpoint from within a workstream",
		Long: `Make a checkpoint of the session's state. It has the files of the last capture,
since the files can't be captured while a workstream runs.`,
		Example: `  runner report checkpoint -m "schema is done"`,
		Args:    cli.Arguments(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runReport(cmd.Context(), env, o) },
	}
	cmd.Flags().StringVarP((*string)(&o.report.Reason), "reason", "m", "", "record `TEXT` as the reason")
	o.addFlags(cmd)
	return cmd
}

// runReport sends a report to the Runner that started this process.
func runReport(ctx context.Context, env *cli.Environment, o reportOptions) error {
	line, err := reportLine(o.report)
	path := env.Lookup(reportVariable)
	switch {
	case err != nil:
		return err
	case o.stdout || path == report.Stdout:
		_, err = fmt.Fprintf(env.Stdout, "%s%s", report.Prefix, line)
		return err
	case path == "":
		return advice.With(advice.Usagef("RUNNER_REPORT is not set: only a process that Runner started for a workstream can report"),
			"`runner status` shows what is on record; with --stdout the line is printed")
	case o.noWait:
		return report.Append(path, o.report)
	}
	return sendReport(ctx, path, o.report)
}

// reportLine returns a report as a line, or an error if Runner would refuse the line.
func reportLine(r ledger.Report) ([]byte, error) {
	line, err := r.Line()
	if err == nil {
		_, err = ledger.Parse(line)
	}
	if err != nil {
		return nil, &advice.UsageError{Err: err}
	}
	return line, nil
}

// sendReport sends a report and waits until it is on record.
func sendReport(ctx context.Context, path string, r ledger.Report) error {
	ctx, cancel := context.WithTimeout(ctx, maxReportWait)
	defer cancel()
	err := report.Send(ctx, path, r)
	if advice.IsA[*report.RefusedError](err) {
		return &advice.UsageError{Err: err}
	}
	return err
}

// runReportList prints a ledger of the session that this process belongs to. of returns its
// entries, and lines describes them.
func runReportList[V any](env *cli.Environment, asJSON bool, name string, of func(*ledger.Ledgers) map[string]V, lines func(*ledger.Ledgers) []string) error {
	prd := env.Lookup(prdVariable)
	if prd == "" {
		return advice.With(advice.Usagef(prdVariable+" is not set, so it is not known which session is meant"), "`runner status PRD --json` shows the "+name+" of a session")
	}
	st, err := load.OwnState(env, prd)
	if err != nil {
		return err
	}
	if asJSON {
		return show.JSON(env.Stdout, info.NewLedgerReport(prd, of(&st.Ledgers)))
	}
	return show.Lines(env.Stdout, lines(&st.Ledgers), "There are none")
}
