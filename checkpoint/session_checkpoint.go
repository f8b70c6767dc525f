package checkpoint

import (
	"cmp"
	"fmt"
	"maps"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/state"
)

// Checkpoint adds a checkpoint of the current state, if the policy wants one for this
// trigger, and removes the checkpoints that retention no longer keeps because of it. Its
// cost does not grow with the size of the pipeline: retention reads only the checkpoints
// of the same group, and only the files of the step that completed last are counted.
func (x *Session) Checkpoint(t state.Trigger, reason string, git *state.Git) (id string, made bool) {
	return x.CheckpointKeeping(t, reason, git, nil)
}

// CheckpointKeeping is Checkpoint, except that retention does not remove the checkpoints in
// needed because of it. The keys of needed are IDs, the values say why each checkpoint is
// needed.
func (x *Session) CheckpointKeeping(t state.Trigger, reason string, git *state.Git, needed map[string]string) (id string, made bool) {
	return x.addCheckpoint(state.CheckpointCreated{Trigger: t, Reason: state.Text(reason), Git: git}, needed)
}

// CheckpointConflict is Checkpoint for the start or the end of a conflict that a
// workstream reported.
func (x *Session) CheckpointConflict(t state.Trigger, conflict string, git *state.Git) (id string, made bool) {
	return x.addCheckpoint(state.CheckpointCreated{Trigger: t, Reason: state.Text("conflict " + conflict), Conflict: conflict, Git: git}, nil)
}

// RecordWorkTree makes the next checkpoint record how the files of the git work tree
// differ from HEAD, if the state does not say the same already. nil records nothing.
func (x *Session) RecordWorkTree(t *state.WorkTree) { x.workTree = t }

// addCheckpoint completes the event of a checkpoint and adds it.
func (x *Session) addCheckpoint(e state.CheckpointCreated, needed map[string]string) (id string, made bool) {
	t := e.Trigger
	if x.bad != nil || x.live == nil || !x.store.o.Policy.wantsTrigger(t) {
		return "", false
	}
	s := x.live.State
	at, _ := x.commits.timeOfEvent(x.store.Now())
	e.Phase, e.Step, e.StepName = s.PhaseName(), s.CurrentStep(), s.StepName()
	e.Uncaptured = x.missed || x.uncaptured && t.Captures()
	e.AsCaptured = x.captured && (s.Captures.Behind > 0 || s.BeganFrom != nil && s.FilesAsOf() <= s.BeganFrom.Seq)
	if e.ID = x.announced; e.ID == "" || !x.captured { // a commit's message names only the checkpoint that has the commit's files
		e.ID = x.newCheckpointID(t, at, x.commits.open.Seq)
	}
	x.announced = ""
	e.Created, e.Modified = s.CountStepFiles()
	if !x.workTree.Equal(s.WorkTree) {
		e.WorkTree = x.workTree
	} else if s.CurrentWorkTree() == nil {
		e.WorkTreeSame = x.workTree != nil
	}
	x.workTree = nil
	if t == state.TriggerPreRollback {
		undoers := s.Undoers()
		maps.Copy(undoers, needed)
		needed = undoers
	}
	e.Removes = x.groups.addCheckpoint(e.ID, groupOf(t, e.Phase), s, needed)
	x.Add(e)
	return e.ID, x.bad == nil
}

// newCheckpointID returns the ID of a checkpoint that is added next. It depends on the
// number of events in the open commit, so that two checkpoints with one trigger in one
// commit have different IDs.
func (x *Session) newCheckpointID(t state.Trigger, at time.Time, seq uint64) string {
	s := x.live.State
	origin := fmt.Sprintf("%s\n%d\n%s\n%d", s.Session, seq, t, len(x.commits.open.Events))
	return disk.NewCheckpointID(cmp.Or(s.PhaseName(), "init"), at, origin)
}

// groups holds the IDs of the kept checkpoints, per group whose number is limited.
type groups struct {
	policy retention.Policy
	kept   map[retention.Group][]string
}

func newGroups(p retention.Policy, checkpoints []*state.CheckpointRef) groups {
	g := groups{p, map[retention.Group][]string{}}
	for _, ref := range checkpoints {
		of := groupOf(ref.Trigger, ref.Phase)
		if _, limited := p.Limit(of.Trigger); limited {
			g.kept[of] = append(g.kept[of], ref.ID)
		}
	}
	return g
}

// addCheckpoint adds a checkpoint to a group, and returns the checkpoints of that group
// that are no longer kept. It keeps those in needed, whose values say why.
func (g groups) addCheckpoint(id string, to retention.Group, s *state.State, needed map[string]string) []string {
	if _, limited := g.policy.Limit(to.Trigger); !limited {
		return nil
	}
	together := make([]retention.Checkpoint, 0, len(g.kept[to])+1)
	for _, old := range g.kept[to] {
		if ref := s.Checkpoint(old); ref != nil {
			together = append(together, ForRetention(ref))
		}
	}
	together = append(together, retention.Checkpoint{ID: id, Group: to})
	var kept, removed []string
	for _, d := range retention.Decide(together, g.policy, retention.Pass{Needed: needed}).Decisions {
		if d.Keep {
			kept = append(kept, d.ID)
		} else {
			removed = append(removed, d.ID)
		}
	}
	g.kept[to] = kept
	return removed
}
