package exchange_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/exchange"
	"prdrunner/checkpoint/state"
)

// TestRoundTripOfExamples: a session that begins from a checkpoint of another tool is
// exported as that tool has it, and gives the same document again.
func TestRoundTripOfExamples(t *testing.T) {
	t.Parallel()
	for _, f := range fixtures() {
		t.Run(f.golden, func(t *testing.T) {
			t.Parallel()
			to := targets()[f.format]
			first, err := exchange.Import(f.format, filepath.Join("testdata", f.path), to)
			if err != nil {
				t.Fatal(err)
			}
			st := begin(t, to, first.Document)
			st.Status = first.Document.Status // a build that only judges the work again keeps it
			judge(st)
			if e := first.Document.Error; e != nil {
				st.Error = &state.Failure{Workstream: e.Workstream, Message: state.Text(e.Message), File: state.Text(e.File), Line: e.Line}
				st.Workstream(e.Workstream).Status = state.Failed
			}
			second, err := exchange.Import(f.format, export(t, f.format, st), to)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(normal(first.Document.Document), normal(second.Document.Document), options()...); diff != "" {
				t.Errorf("-first +second:\n%s", diff)
			}
		})
	}
}

// judge passes the gates of workstreams whose work is done.
func judge(st *state.State) {
	for w := range st.Records() {
		if w.Status == state.Succeeded {
			w.Status = state.Completed
		}
	}
}

// options compare documents. Where they come from differs, and so do the times of what had
// none, and the order of names.
func options() []cmp.Option {
	return []cmp.Option{
		cmpopts.IgnoreFields(state.Document{}, "Timestamp"),
		cmpopts.IgnoreFields(state.Imported{}, "Session", "Checkpoint", "CreatedAt"),
		cmpopts.IgnoreFields(state.ImportedResult{}, "CompletedAt"),
		cmpopts.EquateEmpty(),
		cmpopts.SortSlices(func(a, b string) bool { return a < b }),
	}
}

// normal returns a document with the labels of gates without their owners, and only with
// results that say more than that the workstream is completed.
func normal(d state.Document) state.Document {
	bare := func(labels []string) []string {
		var names []string
		for _, label := range labels {
			name, _, _ := strings.Cut(label, " (")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return names
	}
	d.GatesPassed, d.GatesPending = bare(d.GatesPassed), bare(d.GatesPending)
	if d.Imported == nil {
		return d
	}
	imported := *d.Imported
	imported.Results = map[string]state.ImportedResult{}
	for name, r := range d.Imported.Results {
		if r.Summary+r.Location != "" || len(r.Outputs) > 0 {
			imported.Results[name] = r
		}
	}
	d.Imported = &imported
	return d
}

// export writes a session, checks it against the schemas, and returns its path.
func export(t *testing.T, format exchange.Format, st *state.State) string {
	t.Helper()
	dir := t.TempDir()
	if len(st.Checkpoints) == 0 {
		err := st.Apply(state.Commit{Seq: st.Seq + 1, Time: now, Events: []state.Event{
			state.CheckpointCreated{ID: "CP-init-20260102T030405Z-01234567", Trigger: state.TriggerManual, Phase: st.PhaseName(), Git: st.Git},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	path := dir
	source := exchange.Source{State: st, Load: func(ref *state.CheckpointRef) (*disk.CheckpointFile, error) {
		f := disk.NewCheckpointFile(st, ref)
		return &f, nil
	}}
	_, err := exchange.Export(format, source, func(f exchange.File) error {
		name := filepath.Join(dir, f.Name)
		if !format.IsDirectory() {
			path = name
		}
		if f.Link != "" {
			return os.Symlink(f.Link, name)
		}
		return os.WriteFile(name, f.Data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	checkSchemas(t, format, dir)
	return path
}

func checkSchemas(t *testing.T, format exchange.Format, dir string) {
	t.Helper()
	for _, s := range map[exchange.Format][]struct{ schema, glob string }{
		exchange.PRD:         {{"prd", "*.json"}},
		exchange.GoTeam:      {{"go-team", "cp-*.json"}, {"go-team-manifest", "manifest.json"}},
		exchange.Orchestrate: {{"orchestrate", "*.json"}},
		exchange.Crunch:      {{"crunch", "CP-*.yaml"}, {"crunch-index", "index.yaml"}},
	}[format] {
		files, err := filepath.Glob(filepath.Join(dir, s.glob))
		if err != nil {
			t.Fatal(err)
		}
		validate(t, s.schema, files...)
	}
}

// TestRoundTripOfASession: what a session has and a format can hold comes back, and the
// rest is listed.
func TestRoundTripOfASession(t *testing.T) {
	t.Parallel()
	for _, format := range exchange.Formats() {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			st := session(t)
			to := exchange.Target{PRD: st.PRD, Title: st.Title, Shape: shape(), Now: now}
			taken, err := exchange.Import(format, export(t, format, st), to)
			if err != nil {
				t.Fatal(err)
			}
			again := begin(t, to, taken.Document)
			again.Status = st.Status
			if format != exchange.PRD {
				judge(again)
			}
			compareSessions(t, format, st, again)
		})
	}
}

func shape() state.Shape {
	return state.Shape{
		Agents: []state.AgentShape{{Name: "maker", Role: "implementer"}},
		Phases: []state.PhaseShape{
			{Name: "one", Workstreams: []state.WorkstreamShape{{Name: "a", Batch: 1, Agent: "maker", Gates: []string{"lint"}}}},
			{Name: "two", Workstreams: []state.WorkstreamShape{{Name: "b", Batch: 1, Agent: "maker"}, {Name: "c", Batch: 2}}, MaxIterations: 4, Gates: []string{"done"}},
		},
	}
}

// session returns a session that has something of everything that some format can hold.
func session(t *testing.T) *state.State {
	t.Helper()
	written := state.Document{
		PRD: "PRD-003", Title: "Everything", CurrentPhase: 2, Status: state.StatusPaused,
		Completed: []string{"a", "b"}, Pending: []string{"c"}, Artifacts: map[string][]string{"a": {"a.go", "a_test.go"}, "b": {"b.txt"}},
		Timestamp:   now.Format(time.RFC3339),
		GatesPassed: []string{"lint (a)"}, GatesPending: []string{"done (two)"},
		Notes: state.Notes{
			Review:      &state.AdversarialReview{Verdict: state.VerdictOverridden, P0Count: 1, Attempt: 2, FindingsPath: "f.json", OverrideReason: "why"},
			ESLintFixes: []state.Fix{{File: "a.go", Change: "x"}}, CleanupDone: []string{"y"}, KeyFixes: []state.Fix{{File: "b.txt", Change: "z"}},
		},
		Imported: &state.Imported{
			Format: "crunch", PhaseStartedAt: now.Format(time.RFC3339), PhaseAttempt: 2, IterationCount: 3,
			Results: map[string]state.ImportedResult{
				"a": {CompletedAt: now.Add(-time.Hour).Format(time.RFC3339), Summary: "made a", Location: "a.go", Outputs: map[string]string{"spec": "one\ntwo"}},
				"b": {CompletedAt: now.Format(time.RFC3339), Summary: "made b", Location: "b.txt", Outputs: map[string]string{"spec": "three", "x": "[1]"}},
			},
			Metrics: map[string]any{"test_coverage": "high"}, Values: map[string]string{"k": "v", "list": "[1, 2]"},
			Messages: state.ImportedMessages{Pending: []string{"M-1"}, Awaiting: []string{"M-2"}}, Conflicts: []string{"C-1"},
			Knowledge: state.ImportedKnowledge{Injected: []string{"K-1", "K-2"}, Captured: []string{"K-2"}, Pending: []string{"K-3"}},
			Issue:     &state.ImportedIssue{Number: 7, Title: "Title", Body: "body\n", Labels: []string{"l", "state:two"}, Assignees: []string{"ana"}, StateLabel: "state:two"},
			Git:       &state.ImportedGit{Branch: "main", Commit: "0123456789012345678901234567890123456789"},
		},
	}
	return begin(t, exchange.Target{PRD: written.PRD, Title: written.Title, Shape: shape()}, document.File{Document: written})
}

// compareSessions compares what both sessions can have by a format.
func compareSessions(t *testing.T, format exchange.Format, was, is *state.State) {
	t.Helper()
	compare := func(what string, was, is any) {
		if diff := cmp.Diff(was, is, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-was +is):\n%s", what, diff)
		}
	}
	all := []exchange.Format{exchange.PRD, exchange.GoTeam, exchange.Orchestrate, exchange.Crunch}
	ids := func(s *state.State) any {
		l := s.Ledgers
		return [][]string{l.MessagesWith("pending"), l.MessagesWith("awaiting"), l.OpenConflicts(), l.KnowledgeWith("injected"), l.KnowledgeWith("captured"), l.KnowledgeWith("pending")}
	}
	values := func(s *state.State) any {
		texts := map[string]state.Text{}
		for key, v := range s.Ledgers.Values {
			texts[key] = v.Value
		}
		return texts
	}
	each := func(of func(*state.Workstream) any) func(*state.State) any {
		return func(s *state.State) any {
			all := map[string]any{}
			for w := range s.Records() {
				all[w.Name] = of(w)
			}
			return all
		}
	}
	completed := each(func(w *state.Workstream) any { return w.Status == state.Completed })
	for _, part := range []struct {
		what string
		in   []exchange.Format
		of   func(*state.State) any
	}{
		{"completed", []exchange.Format{exchange.PRD, exchange.GoTeam, exchange.Crunch}, completed},
		{"phase", all, func(s *state.State) any { return s.PhaseName() }},
		{"artifacts", []exchange.Format{exchange.PRD, exchange.GoTeam}, each(func(w *state.Workstream) any { return w.Artifacts })},
		{"outputs", []exchange.Format{exchange.GoTeam}, each(func(w *state.Workstream) any { return w.Outputs })},
		{"metrics", []exchange.Format{exchange.GoTeam}, func(s *state.State) any { return s.Metrics }},
		{"iteration", []exchange.Format{exchange.GoTeam}, func(s *state.State) any { return s.Phases[1].Iteration.Index }},
		{"git", []exchange.Format{exchange.GoTeam}, func(s *state.State) any { return s.Git }},
		{"times", []exchange.Format{exchange.GoTeam, exchange.Crunch}, each(func(w *state.Workstream) any { return w.Status == state.Completed && w.EndedAt != nil })},
		{"outputs of agents", []exchange.Format{exchange.Crunch}, func(s *state.State) any { return state.NewAgentOutputs(s) }},
		{"members", []exchange.Format{exchange.Crunch}, func(s *state.State) any { return state.NewTeam(s).Members }},
		{"batches", []exchange.Format{exchange.Crunch}, func(s *state.State) any { return state.NewExecutionGraph(s).CompletedBatches }},
		{"issue", []exchange.Format{exchange.Crunch}, func(s *state.State) any { return s.Issue }},
		{"branch", []exchange.Format{exchange.Crunch}, func(s *state.State) any { return s.Git.Branch }},
		{"attempt of the phase", []exchange.Format{exchange.Crunch}, func(s *state.State) any { return []any{s.Phases[1].Attempt, s.Phases[1].StartedAt} }},
		{"ledgers", []exchange.Format{exchange.Crunch}, ids},
		{"values", []exchange.Format{exchange.Orchestrate}, values},
		{"gates", []exchange.Format{exchange.PRD}, func(s *state.State) any {
			return []state.StepStatus{s.Gate("lint (a)").Status, s.Gate("done (two)").Status}
		}},
		{"notes and review", []exchange.Format{exchange.PRD}, func(s *state.State) any { return []any{s.Notes, s.Review} }},
	} {
		for _, f := range part.in {
			if f == format {
				compare(part.what, part.of(was), part.of(is))
			}
		}
	}
}

// TestNoPlace: an export lists exactly what the session has and the format can't hold.
func TestNoPlace(t *testing.T) {
	t.Parallel()
	noPlace := func(format exchange.Format, st *state.State) []string {
		t.Helper()
		source := exchange.Source{State: st, Load: func(ref *state.CheckpointRef) (*disk.CheckpointFile, error) {
			f := disk.NewCheckpointFile(st, ref)
			return &f, nil
		}}
		done, err := exchange.Export(format, source, func(exchange.File) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return done.NoPlace
	}
	everything := func() *state.State {
		st := session(t)
		st.Seq = 1
		st.Workstream("a").Attempts = 1
		st.Workstream("c").Status = state.Skipped
		st.Workstream("b").Once, st.Workstream("b").Status, st.Workstream("b").Attempts = true, state.Uncertain, 1
		st.Workstream("b").WorkSeq = 9
		st.Error = &state.Failure{Message: "m"}
		st.Review = &state.Review{Status: state.Passed, Verdict: state.VerdictShip, Attempt: 1, JudgedAttempt: 1}
		st.Notes.CleanupDone = []string{"x"}
		st.Spent.TokensIn = 5000
		st.Rollbacks = []state.RollbackRecord{{ID: "r"}}
		st.Phases[0].Gates = []*state.Gate{{Label: "g (one)", Status: state.Passed, By: &state.Actor{}}}
		st.WorkTree = &state.WorkTree{Modified: []state.ModifiedFile{{Path: "f"}}, Omitted: 1}
		st.Checkpoints = []*state.CheckpointRef{{ID: "CP-a", Valid: true}, {ID: "CP-b", InvalidatedBy: "r"}}
		return st
	}
	const (
		bytes, attempts, verdicts, skipped = "the bytes of captured files, and the journal", "attempts, digests and logs of workstreams", "verdicts of gates", "skipped workstreams"
		artifacts, outputs, summaries      = "artifacts", "outputs", "summaries of results"
		locations, metrics, review, notes  = "locations of results", "metrics", "the verdict of the review", "notes"
		messages, conflicts, knowledge     = "messages", "conflicts", "knowledge"
		values, issue, team, spent         = "values of `runner state`", "the issue", "the team", "what was spent"
		iteration, git, differ, rollbacks  = "the iteration of a phase that repeats", "the branch and commit of git", "which files differed from HEAD", "rollbacks"
		discarded                          = "checkpoints that a rollback has discarded"
		once, failure, answers, after      = "whether workstreams that must happen only once have started", "the failure", "answers of approvals", "what happened after the latest checkpoint"
	)
	for format, want := range map[exchange.Format][]string{
		exchange.PRD:         {bytes, attempts, once, answers, skipped, outputs, summaries, locations, metrics, messages, conflicts, knowledge, values, issue, team, spent, iteration, git, differ, rollbacks, discarded},
		exchange.GoTeam:      {bytes, attempts, verdicts, once, failure, answers, skipped, summaries, locations, review, notes, messages, conflicts, knowledge, values, issue, team, spent, differ, discarded},
		exchange.Orchestrate: {bytes, attempts, verdicts, once, answers, outputs, summaries, locations, metrics, review, notes, messages, conflicts, knowledge, issue, team, spent, iteration, git, differ, rollbacks, discarded},
		exchange.Crunch: {
			bytes, attempts, verdicts, once, after, answers, artifacts, outputs, metrics, review, notes, "texts, senders and receivers of messages, and messages that are done",
			"parties and texts of conflicts, and resolved conflicts", values, spent, iteration, "the commit of git", "more than 1,000 files that differed from HEAD", rollbacks, discarded,
		},
	} {
		if diff := cmp.Diff(want, noPlace(format, everything())); diff != "" {
			t.Errorf("%s -want +got:\n%s", format, diff)
		}
		empty := &state.State{PRD: "PRD-001", Checkpoints: []*state.CheckpointRef{{ID: "CP-a", Valid: true}}, Phases: []*state.Phase{{Name: "one", Workstreams: []*state.Workstream{{Name: "a"}}}}}
		if got := noPlace(format, empty); len(got) > 0 {
			t.Errorf("%s lists of an empty session: %q", format, got)
		}
	}
	part := session(t)
	if !slices.Contains(noPlace(exchange.Orchestrate, part), "completed workstreams of phases that are not complete") {
		t.Error("orchestrate counts phases, and does not say that it drops a completed workstream")
	}
}
