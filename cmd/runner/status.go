package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/advice"
	"prdrunner/runner/view"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

type statusOptions struct {
	prd  string
	json bool
}

func newStatusCommand(env *environment) *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:   "status [PRD]",
		Short: "Show the state of a session and what to do next",
		Long: `Show the state of the session of a PRD and what to do next, whether or not a build
is running. Without a PRD, list all sessions. Status changes nothing and takes no
lock.`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.prd = first(args)
			return runStatus(cmd.Context(), env, o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runStatus(ctx context.Context, env *environment, o statusOptions) error {
	if o.prd == "" {
		return statusOfAll(ctx, env, o.json)
	}
	store, snap, err := loadSession(env, o.prd)
	if err != nil {
		return err
	}
	st := newStatus(env, o.prd, snap)
	if st.Rollback != nil {
		if st.Finishes, err = finishOf(ctx, env, store, o.prd); err != nil {
			fmt.Fprintf(env.stderr, "Warning: cannot tell what finishing the rollback would do: %v\n", err)
		}
	}
	st.findTakenBack(ctx, env, store, snap)
	var broken error
	if st.HandWritten {
		broken = handWrittenProblems(o.prd, snap.Document)
	}
	if o.json {
		return errors.Join(writeJSON(env.stdout, st), broken)
	}
	return errors.Join(writeStatus(env.stdout, env, st), broken)
}

// handWrittenProblems lists the rules that a document written by hand breaks. A build
// checks the rules that depend on the pipeline.
func handWrittenProblems(prd string, d *state.Document) error {
	err := d.CheckWritten(prd, nil)
	if err == nil {
		return nil
	}
	return advice.With(&advice.UsageError{Err: err}, fmt.Sprintf("correct %s.json; `runner build %s --fresh` starts without it", prd, prd))
}

// loadSession opens the state of a PRD and reads its session, without a lock. With a
// *checkpoint.DamagedError it returns the store too, so that the caller can set the
// damaged state aside. It warns the user if the state is untrusted.
func loadSession(env *environment, prd string) (*checkpoint.Store, *checkpoint.Snapshot, error) {
	store, snap, err := readStored(env, prd)
	if store != nil {
		warnUntrusted(env, store, prd)
	}
	return store, snap, err
}

// readStored does the work of loadSession, without the warning about untrusted state.
func readStored(env *environment, prd string) (*checkpoint.Store, *checkpoint.Snapshot, error) {
	cfg, err := loadConfig(env)
	if err != nil {
		return nil, nil, err
	}
	store, err := openStore(env, cfg, prd)
	if err != nil {
		return nil, nil, err
	}
	if err := checkPRD(env, cfg, prd); err != nil {
		return nil, nil, err
	}
	snap, err := store.Load(prd)
	if errors.Is(err, checkpoint.ErrNoSession) {
		return nil, nil, noSession(env, store, prd)
	}
	return store, snap, err
}

// loadState opens a session like loadSession, for commands that need a session that Runner
// made. A document written by hand is an error.
func loadState(env *environment, prd string) (*checkpoint.Store, *state.State, error) {
	store, snap, err := loadSession(env, prd)
	if err != nil {
		return nil, nil, err
	}
	return ownState(env, prd, store, snap)
}

// loadTrusted opens a session like loadState, for commands that change the session.
// Untrusted state is an error.
func loadTrusted(ctx context.Context, env *environment, prd string) (*checkpoint.Store, *state.State, error) {
	store, snap, err := readStored(env, prd)
	if store != nil {
		untrusted, lookErr := store.Untrusted(ctx, prd)
		switch {
		case lookErr != nil:
			err = errors.Join(lookErr, err)
		case untrusted != nil:
			err = untrusted
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return ownState(env, prd, store, snap)
}

// ownState returns the state of a session, and tells the user about an import or a
// rollback that was cut short. A document written by hand has no state.
func ownState(env *environment, prd string, store *checkpoint.Store, snap *checkpoint.Snapshot) (*checkpoint.Store, *state.State, error) {
	if snap.State == nil {
		return nil, nil, handWritten(prd)
	}
	if p := snap.Import; p != nil && snap.Owner == nil {
		fmt.Fprintf(env.stderr, "Import %s\n", importCutShort(env, p))
	}
	if r := snap.State.Rollback; r != nil && snap.Owner == nil {
		fmt.Fprintf(env.stderr, "Rollback %s\n", cutShort(r))
	}
	return store, snap.State, nil
}

// cutShort describes a rollback that was cut short.
func cutShort(r *state.RollbackStarted) string {
	return fmt.Sprintf("to %s was cut short: the workspace may be partly restored; the next command that changes the session finishes it", r.To)
}

// importCutShort describes an import that was cut short.
func importCutShort(env *environment, p *disk.PendingImport) string {
	return fmt.Sprintf("from %s was cut short: files may be missing; %s or the next command that changes the session finishes it", shownArchive(p), env.Localize(advice.ImportAgain(p)))
}

// noSession returns the error of a PRD without a session. Its hint names an import that
// was cut short, an archived session, or the PRDs that have sessions.
func noSession(env *environment, store *checkpoint.Store, prd string) error {
	hint := howToStart(env, prd)
	if p, err := store.Layout().InterruptedImport(prd); err == nil && p != nil {
		hint = fmt.Sprintf("one was being imported, which was cut short: %s finishes it", advice.ImportAgain(p))
	} else if last, err := lastArchived(store, prd); err == nil && last != nil {
		hint = fmt.Sprintf("the last one is archived in %s; `runner checkpoint list %s --all` shows it", env.Display(last.Dir), prd)
		if last.Place == disk.PlaceHistory && last.State != nil {
			hint += fmt.Sprintf(", `runner %s` begins from it", advice.ResumeCommand(prd, string(last.State.Pipeline.Path)))
		}
	} else if prds, err := store.Reader().PRDs(); err == nil && len(prds) > 0 {
		hint = "there are sessions of " + strings.Join(prds, ", ")
	}
	return advice.With(advice.Usagef("there is no session of %s", prd), hint)
}

func statusOfAll(ctx context.Context, env *environment, asJSON bool) error {
	cfg, err := loadConfig(env)
	if err != nil {
		return err
	}
	store, err := openStore(env, cfg, "")
	if err != nil {
		return err
	}
	prds, err := store.Reader().PRDs()
	if err != nil {
		return err
	}
	list := []sessionStatus{}
	var damaged error
	for _, prd := range prds {
		warnUntrusted(env, store, prd)
		snap, err := store.Load(prd)
		if errors.Is(err, checkpoint.ErrNoSession) {
			continue // the session was removed after PRDs listed it
		}
		if err != nil {
			damaged = errors.Join(damaged, err)
			list = append(list, damagedStatus(env, prd, err))
			continue
		}
		st := newStatus(env, prd, snap)
		st.findTakenBack(ctx, env, store, snap)
		list = append(list, st)
	}
	if asJSON {
		return errors.Join(damaged, writeJSON(env.stdout, struct {
			FormatVersion string          `json:"format_version"`
			PRDs          []sessionStatus `json:"prds"`
		}{outputFormat, list}))
	}
	if len(list) == 0 {
		return sayNoSessions(env, store)
	}
	tw := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "PRD\tSTATUS\tPHASE\tDONE\tUPDATED\tTITLE")
	for _, s := range list {
		if s.Damaged != "" {
			fmt.Fprintf(tw, "%s\tdamaged\t\t\t\t%s\n", s.PRD, joined(s.Next))
			continue
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d of %d\t%s\t%s\n", s.PRD, s.words(), s.phaseReached(),
			s.Counts.Done, s.Counts.Total, view.Ago(env.now(), s.UpdatedAt), view.OneLine(s.Title))
	}
	return errors.Join(damaged, tw.Flush())
}

// sayNoSessions tells the user that there is no current session, and names the archived
// ones.
func sayNoSessions(env *environment, store *checkpoint.Store) error {
	archived, err := store.Reader().Known()
	if err != nil {
		return err
	}
	said := "No sessions yet: " + howToStartAny(env) + "."
	if len(archived) > 0 {
		said = fmt.Sprintf("No current sessions: `runner checkpoint list --all` shows the archived ones of %s, %s.", strings.Join(archived, ", "), howToStartAny(env))
	}
	_, err = fmt.Fprintln(env.stdout, env.Localize(said))
	return err
}

func writeStatus(w io.Writer, env *environment, s sessionStatus) error {
	var b strings.Builder
	fmt.Fprintln(&b, view.OneLine(view.Named(s.PRD, s.Title)))
	for _, row := range s.facts(env) {
		fmt.Fprintf(&b, "  %-16s %s\n", row[0]+":", view.OneLine(row[1]))
	}
	if len(s.Phases) > 0 {
		b.WriteByte('\n')
		if err := writeWorkstreams(&b, s); err != nil {
			return err
		}
	}
	if len(s.Waiting) > 0 {
		b.WriteString("\nWaiting for a person:\n")
		for _, q := range s.Waiting {
			fmt.Fprintf(&b, "  %s\n", view.OneLine(q.line(env.now())))
		}
	}
	if len(s.Next) > 0 {
		b.WriteString("\nNext:\n")
		for _, n := range s.Next {
			fmt.Fprintf(&b, "  %s\n", n)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// facts returns the lines above the table, as names and values.
func (s sessionStatus) facts(env *environment) [][2]string {
	now := env.now()
	var rows [][2]string
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, [2]string{name, value})
		}
	}
	add("Status", s.words())
	if s.Session != "" {
		add("Session", fmt.Sprintf("%s, begun %s (%s)", s.Session, s.CreatedAt.UTC().Format(time.DateTime), view.Ago(now, s.CreatedAt)))
		if from := s.BeganFrom; from != nil {
			add("Begun from", fmt.Sprintf("session %s, complete since %s", from.Session, from.At.UTC().Format(time.DateTime)))
		}
		add("Phase", s.phase())
	}
	if s.Owner != nil {
		add("Runner", fmt.Sprintf("pid %d on %s, since %s", s.Owner.PID, s.Owner.Host, s.Owner.Since.UTC().Format(time.DateTime)))
	}
	if s.Killed {
		add("Runner", "was running; how it ended is not on record")
	}
	if len(s.Alive) > 0 {
		alive := make([]string, len(s.Alive))
		for i, p := range s.Alive {
			alive[i] = p.String()
		}
		add("Still running", strings.Join(alive, ", ")+": the next command that changes the session ends it first")
	}
	running := make([]string, len(s.Running))
	for i, r := range s.Running {
		running[i] = r.Name
		if r.Since != nil && s.Owner != nil {
			running[i] += " for " + view.Duration(now.Sub(*r.Since))
		}
	}
	add("Running", strings.Join(running, ", "))
	retrying := make([]string, len(s.Retrying))
	for i, r := range s.Retrying {
		retrying[i] = r.line(now)
	}
	add("To be retried", strings.Join(retrying, "; "))
	for _, failure := range s.failures() {
		add("Error", failure)
	}
	if s.Pause != nil {
		add("Paused", view.Waits(*s.Pause))
	}
	if s.Interrupted != "" {
		add("Interrupted", "by "+s.Interrupted)
	}
	add("Last gate", s.LastGate)
	if c := s.LastCheckpoint; c != nil {
		add("Last checkpoint", fmt.Sprintf("%s (%s, %s)", c.ID, c.Trigger, view.Ago(now, c.CreatedAt)))
	}
	if p := s.Import; p != nil {
		add("Import", importCutShort(env, p))
	}
	if r := s.Rollback; r != nil {
		add("Rollback", cutShort(r))
	}
	for _, t := range s.TakenBack {
		stale := fmt.Sprintf("the rollback of %s on %s took back %s of this session: %s",
			t.PRD, t.At.UTC().Format(time.DateTime), view.Plural(len(t.Files), "artifact"), someFiles(t.Files))
		if t.Safety != "" {
			stale += "; `" + env.Command("checkpoint rollback "+t.PRD+" "+t.Safety) + "` puts them back"
		}
		add("Stale", stale)
	}
	if f := s.Finishes; f != nil {
		add("Refused", string(f.Refused))
		add("Edited since", editedSummary(f.Edited))
	}
	if h := s.Hooks; h != nil {
		add("Hooks", dueHooks(&state.State{Hooks: h})+" did not end; the next build runs them again")
	}
	if s.TornBytes > 0 {
		add("Journal", fmt.Sprintf("its last %d bytes are an unfinished write; the next build moves them to a file of their own", s.TornBytes))
	}
	add("Rescue copy", string(s.RescuePath))
	return rows
}

// phaseReached returns the number of the phase that the session entered last, and the
// number of phases. A complete session has reached the last phase, even if it entered none
// because it reused the results of all. The number of phases is unknown for a document
// written by hand.
func (s sessionStatus) phaseReached() string {
	switch {
	case s.HandWritten:
		return strconv.Itoa(s.CurrentPhase)
	case s.Status == state.StatusComplete:
		return fmt.Sprintf("%d of %d", s.TotalPhases, s.TotalPhases)
	}
	return fmt.Sprintf("%d of %d", s.CurrentPhase, s.TotalPhases)
}

func (s sessionStatus) phase() string {
	if s.Status == state.StatusComplete {
		return s.phaseReached() + " done"
	}
	if s.CurrentPhase == 0 || s.CurrentPhase > len(s.Phases) {
		return fmt.Sprintf("none of %d begun", s.TotalPhases)
	}
	p := s.Phases[s.CurrentPhase-1]
	return fmt.Sprintf("%s, %s", s.phaseReached(), view.Named(p.Name, p.Title))
}

// statusOf returns the status of a workstream. If the record was reused, or the result was
// taken from the cache, it names the earlier session.
func statusOf(w *state.Workstream) string {
	if w.Cached != nil && w.Status == state.Completed {
		return fmt.Sprintf("%s, result of session %s of %s", w.Status, state.ShortSession(w.Cached.Session), w.Cached.At.UTC().Format(time.DateOnly))
	}
	if w.Session == "" || w.Status != state.Completed || w.EndedAt == nil {
		return string(w.Status)
	}
	return fmt.Sprintf("%s, reused from session %s of %s", w.Status, state.ShortSession(w.Session), w.EndedAt.UTC().Format(time.DateOnly))
}

func writeWorkstreams(w io.Writer, s sessionStatus) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "PHASE\tWORKSTREAM\tSTATUS\tATTEMPTS\tTIME\tGATES")
	for _, p := range s.Phases {
		for _, ws := range p.Workstreams {
			took := ""
			if ws.DurationMS > 0 {
				took = view.Duration(time.Duration(ws.DurationMS) * time.Millisecond)
			}
			fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%s\t%s\n", p.Name, view.OneLine(view.Named(ws.Name, ws.Title)), statusOf(ws), ws.Attempts, took, gates(ws.Gates))
		}
		if len(p.Gates) > 0 {
			fmt.Fprintf(tw, "%s\t\t\t\t\t%s\n", p.Name, gates(p.Gates))
		}
	}
	return tw.Flush()
}

func gates(list []*state.Gate) string {
	words := make([]string, len(list))
	for i, g := range list {
		name, _, _ := strings.Cut(g.Label, " (")
		words[i] = name + " " + string(g.Status)
	}
	return strings.Join(words, ", ")
}

// sortedByStart sorts running steps by the time when they started.
func sortedByStart(list []runningStep) []runningStep {
	slices.SortStableFunc(list, func(a, b runningStep) int {
		if a.Since == nil || b.Since == nil {
			return 0
		}
		return a.Since.Compare(*b.Since)
	})
	return list
}
