package exchange

import (
	"fmt"
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
		{"whether workstreams that must happen only once have started", nil, some(func(w *state.Workstream) bool {
			return w.Once && w.Attempts > 0 && w.Status != state.Completed && w.Status != state.Skipped
		})},
		{"what happened after the latest checkpoint", []Format{PRD, GoTeam, Orchestrate}, hasMoreThanCheckpoints},
		{"the failure", []Format{PRD, Orchestrate, Crunch}, func(s *state.State) bool { return s.Error != nil }},
		{"answers of approvals", nil, func(s *state.State) bool { return hasGate(s, func(g *state.Gate) bool { return g.By != nil }) }},
		{"skipped workstreams", []Format{Orchestrate, Crunch}, some(func(w *state.Workstream) bool { return w.Status == state.Skipped })},
		{"artifacts", []Format{PRD, GoTeam, Orchestrate}, some(func(w *state.Workstream) bool { return len(w.Artifacts) > 0 })},
		{"failures that the pipeline allows", nil, some((*state.Workstream).FailureAllowed)},
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
		{"more than 1,000 files that differed from HEAD", []Format{PRD, GoTeam, Orchestrate}, func(s *state.State) bool { return s.WorkTree != nil && s.WorkTree.Omitted > 0 }},
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
	return append(missing, collisions(f, s)...)
}

// collisions lists values and outputs whose names the format gives to something else.
func collisions(f Format, s *state.State) []string {
	var all []string
	if f == Orchestrate {
		for _, name := range workflowFields() {
			if _, has := s.Ledgers.Values[name]; has {
				all = append(all, "the value "+name+", a name that the format uses itself")
			}
		}
	}
	for w := range s.Records() {
		for _, name := range []string{codeFiles, testFiles} {
			if _, has := w.Outputs[name]; has && f == GoTeam {
				all = append(all, fmt.Sprintf("the output %s of %s, a name that the format uses itself", name, w.Name))
			}
		}
	}
	return all
}

// hasMoreThanCheckpoints reports whether something happened to a workstream after the
// newest valid checkpoint.
func hasMoreThanCheckpoints(s *state.State) bool {
	newest := uint64(0)
	for _, c := range s.Checkpoints {
		if c.Valid {
			newest = max(newest, c.Seq)
		}
	}
	for w := range s.Records() {
		if max(w.WorkSeq, w.EndedSeq) > newest || w.Status == state.Running {
			return true
		}
	}
	return false
}

func hasVerdicts(s *state.State) bool {
	return hasGate(s, func(g *state.Gate) bool { return g.Status != state.Pending })
}

func hasGate(s *state.State, is func(*state.Gate) bool) bool {
	for _, p := range s.Phases {
		if slices.ContainsFunc(p.Gates, is) || slices.ContainsFunc(p.Workstreams, func(w *state.Workstream) bool { return slices.ContainsFunc(w.Gates, is) }) {
			return true
		}
	}
	return false
}

func hasPartPhases(s *state.State) bool {
	for _, p := range s.Phases {
		if p.Status != state.Completed && slices.ContainsFunc(p.Workstreams, func(w *state.Workstream) bool { return w.Status == state.Completed }) {
			return true
		}
	}
	return false
}
