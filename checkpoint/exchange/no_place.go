package exchange

import (
	"slices"

	"prdrunner/checkpoint/state"
)

// record is a kind of record that a session can have, and the formats that can hold it.
type record struct {
	what string
	in   []Format // that can hold it, or for which a wider kind says that they can't
	has  func(*state.State) bool
}

// records returns the kinds of records that some format can't hold.
func records() []record {
	some := func(has func(*state.Workstream) bool) func(*state.State) bool {
		return func(s *state.State) bool {
			for _, p := range s.Phases {
				if slices.ContainsFunc(p.Workstreams, has) {
					return true
				}
			}
			return false
		}
	}
	return []record{
		{"the bytes of captured files, and the journal", nil, func(s *state.State) bool { return s.Seq > 0 }},
		{"attempts, digests and logs of workstreams", nil, some(func(w *state.Workstream) bool { return w.Attempts > 0 })},
		{"verdicts of gates", []Format{PRD}, hasVerdicts},
		{"completed workstreams of phases that are not complete", []Format{PRD, GoTeam, Crunch}, hasPartPhases},
		{"skipped workstreams", nil, some(func(w *state.Workstream) bool { return w.Status == state.Skipped })},
		{"artifacts", []Format{PRD, GoTeam, Orchestrate}, some(func(w *state.Workstream) bool { return len(w.Artifacts) > 0 })},
		{"outputs", []Format{GoTeam}, some(func(w *state.Workstream) bool { return len(w.Outputs) > len(w.Metrics) })},
		{"summaries of results", []Format{Crunch}, some(func(w *state.Workstream) bool { return w.Summary != "" })},
		{"locations of results", []Format{Crunch}, some(func(w *state.Workstream) bool { return w.Location != "" })},
		{"metrics", []Format{GoTeam}, func(s *state.State) bool { return len(s.Metrics) > 0 }},
		{"the verdict of the review", []Format{PRD}, func(s *state.State) bool { return s.Review != nil || s.Notes.Review != nil }},
		{"notes", []Format{PRD}, func(s *state.State) bool {
			return len(s.Notes.ESLintFixes)+len(s.Notes.CleanupDone)+len(s.Notes.KeyFixes) > 0
		}},
		{"messages", []Format{Crunch}, func(s *state.State) bool { return len(s.Ledgers.Messages) > 0 }},
		{"texts, senders and receivers of messages, and messages that are done", []Format{PRD, GoTeam, Orchestrate}, func(s *state.State) bool { return len(s.Ledgers.Messages) > 0 }},
		{"conflicts", []Format{Crunch}, func(s *state.State) bool { return len(s.Ledgers.Conflicts) > 0 }},
		{"parties and texts of conflicts, and resolved conflicts", []Format{PRD, GoTeam, Orchestrate}, func(s *state.State) bool { return len(s.Ledgers.Conflicts) > 0 }},
		{"knowledge", []Format{Crunch}, func(s *state.State) bool { return len(s.Ledgers.Knowledge) > 0 }},
		{"values of `runner state`", []Format{Orchestrate}, func(s *state.State) bool { return len(s.Ledgers.Values) > 0 }},
		{"the issue", []Format{Crunch}, func(s *state.State) bool { return s.Issue != nil }},
		{"the team", []Format{Crunch}, func(s *state.State) bool { return len(s.Agents) > 0 }},
		{"what was spent", nil, func(s *state.State) bool { return s.Spent.String() != "" }},
		{"the iteration of a phase that repeats", []Format{GoTeam}, func(s *state.State) bool {
			return slices.ContainsFunc(s.Phases, func(p *state.Phase) bool { return p.Iteration != nil })
		}},
		{"the branch and commit of git", []Format{GoTeam, Crunch}, func(s *state.State) bool { return s.Git != nil }},
		{"the commit of git", []Format{PRD, GoTeam, Orchestrate}, func(s *state.State) bool { return s.Git != nil }},
		{"which files differed from HEAD", []Format{Crunch}, func(s *state.State) bool { return s.WorkTree != nil && len(s.WorkTree.Modified) > 0 }},
		{"rollbacks", []Format{GoTeam}, func(s *state.State) bool { return len(s.Rollbacks) > 0 }},
		{"checkpoints that a rollback has discarded", nil, func(s *state.State) bool {
			return slices.ContainsFunc(s.Checkpoints, func(c *state.CheckpointRef) bool { return c.InvalidatedBy != "" })
		}},
	}
}

// withoutPlace lists what a session has and a format can't hold.
func withoutPlace(f Format, s *state.State) []string {
	missing := []string{}
	for _, r := range records() {
		if !slices.Contains(r.in, f) && r.has(s) {
			missing = append(missing, r.what)
		}
	}
	return missing
}

func hasVerdicts(s *state.State) bool {
	decided := func(g *state.Gate) bool { return g.Status != state.Pending }
	for _, p := range s.Phases {
		if slices.ContainsFunc(p.Gates, decided) || slices.ContainsFunc(p.Workstreams, func(w *state.Workstream) bool { return slices.ContainsFunc(w.Gates, decided) }) {
			return true
		}
	}
	return false
}

func hasPartPhases(s *state.State) bool {
	for _, p := range s.Phases {
		done, open := false, false
		for _, w := range p.Workstreams {
			done = done || w.Status == state.Completed
			open = open || w.Status != state.Completed && w.Status != state.Skipped
		}
		if done && open {
			return true
		}
	}
	return false
}
