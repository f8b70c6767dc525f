// Package prune removes what a store no longer needs to keep: checkpoints, archived
// sessions, objects and git references.
//
// [Plan] returns what the policy lets go, and [Run] removes it. [PlanDelete] and
// [Delete] do that for checkpoints that a user names. Removed checkpoints leave their
// objects behind; [PlanCollect] and [Collect] remove the objects that nothing refers to.
// [Tidy] applies the policy at the end of a run, and collects if objects were given up.
// [FindForeignRefs] and [RemoveForeignRefs] are for the git references of other state
// directories.
//
// Package retention decides which checkpoints and sessions to keep; package inventory finds
// out what is referenced. Read prune.go first, then collect.go.
package prune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/inventory"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/retention"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Pruned lists the checkpoints and sessions of a PRD that Prune removed, or that a plan
// would remove.
type Pruned struct {
	PRD         string
	Checkpoints []RemovedCheckpoint // of the current session, oldest first
	Sessions    []RemovedSession    // archived sessions
	Kept        int                 // number of checkpoints that stay
	Keeps       []KeptCheckpoint    // the checkpoints that stay, if retention decided; oldest first
	Lost        []string            // steps and rollbacks that can no longer be reached or undone, as messages for the user
	Freed       int64               // bytes freed, without those that another PRD needs too
	Over        int64               // bytes over max_size_mb after everything removable is removed
	Doubted     int                 // number kept because the clock reading by which they are too old is not trusted, see retention.Clock
	Warnings    []string            // what could not be examined, as messages for the user

	// session and seq name the session and the commit for which the plan was made.
	session string
	seq     uint64
	clock   retention.Clock // by which the ages were judged
}

// AddTo adds the ids of the removed checkpoints and archived sessions to a line of the
// audit log. If no person gave a reason, it also adds why each was removed.
func (p *Pruned) AddTo(r *checkpoint.AuditRecord) {
	if p == nil {
		return
	}
	var why []string
	for _, c := range p.Checkpoints {
		r.IDs, why = append(r.IDs, c.ID), append(why, c.Why)
	}
	for _, session := range p.Sessions {
		r.IDs, why = append(r.IDs, session.ID), append(why, session.Why)
	}
	r.Because(why...)
}

// RemovedCheckpoint is a checkpoint to remove, with the reason.
type RemovedCheckpoint struct {
	*state.CheckpointRef
	Why   string
	Bytes int64
}

// KeptCheckpoint is a checkpoint that stays, with the reason.
type KeptCheckpoint struct {
	*state.CheckpointRef
	Why string
}

// RemovedSession is an archived session to remove, with the reason.
type RemovedSession struct {
	ID       string // its path in the state directory
	Complete bool
	EndedAt  time.Time
	Why      string
	Bytes    int64

	dir    string
	unread bool // the session can't be read
}

// isEmpty reports whether the plan removes nothing.
func (p *Pruned) isEmpty() bool { return len(p.Checkpoints) == 0 && len(p.Sessions) == 0 }

// Options hold what the user asked for in addition to the policy.
type Options struct {
	OlderThan time.Duration // replaces the policy's ages, see retention.Pass; 0 means not given
	// Planned is the result of Plan with the same options, to which the user may
	// have agreed. It may be nil. Run carries it out unchanged if the session has not
	// changed since, no archived session is to go, and everything could be examined.
	// Otherwise Run plans again, and keeps whatever Planned does not remove.
	Planned *Pruned
}

// Plan returns what Run would remove. It takes no lock and changes nothing.
func Plan(ctx context.Context, s *checkpoint.Store, prd string, o Options) (p *Pruned, err error) {
	if err := s.Reader().CheckID(prd); err != nil {
		return nil, err
	}
	err = s.Reader().RereadIfChanged(prd, func() error {
		records, err := inventory.ReadSessions(s, prd, nil)
		if err == nil {
			p, err = planPrune(ctx, s, prd, records, o, s.Policy().Retention.MaxSizeMB > 0)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// PlanAll plans several PRDs in parallel, as many at once as there are CPUs. The plan
// or the error of prds[i] is at index i.
func PlanAll(ctx context.Context, s *checkpoint.Store, prds []string, o Options) ([]*Pruned, []error) {
	plans, errs := make([]*Pruned, len(prds)), make([]error, len(prds))
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i, prd := range prds {
		all.Go(func() error { // errs holds the errors; one does not stop the others
			plans[i], errs[i] = Plan(ctx, s, prd, o)
			return nil
		})
	}
	_ = all.Wait()
	return plans, errs
}

// planPrune plans for sessions that were read already. It measures the size of the PRD
// only if weighed is true.
func planPrune(ctx context.Context, s *checkpoint.Store, prd string, records []*reader.Record, o Options, weighed bool) (*Pruned, error) {
	if len(records) == 0 {
		return nil, fmt.Errorf("prune %s: %w", prd, checkpoint.ErrNoSession)
	}
	p, agreed := &Pruned{PRD: prd, clock: newClock(s, records)}, o.Planned.removedIDs()
	if o.Planned != nil {
		p.clock = withReadings(p.clock, o.Planned.clock) // since the plan, another PRD may have rewritten its document, and its time with it
	}
	pass := retention.Pass{Clock: p.clock, OlderThan: o.OlderThan}
	if weighed {
		held, err := inventory.Measure(ctx, s, prd, records)
		switch {
		case err == nil:
			pass.Usage = held.Usage
		case ctx.Err() != nil:
			return nil, err
		default:
			p.Warnings = append(p.Warnings, fmt.Sprintf("the size was not looked at: %v", err))
		}
	}
	for _, r := range records {
		if r.Place == disk.PlaceCurrent {
			p.session, p.seq = r.State.Session, r.State.Seq
			p.decide(r.State, s.Policy().Retention, pass, agreed)
		}
	}
	return p, decideSessions(s, p, records, pass, agreed)
}

// retentionReason is the reason that the journal records for removals by retention.
const retentionReason = "retention"

// Run removes what the policy no longer keeps and what the user asked to remove:
// checkpoints of the session, and archived sessions. Collect removes their objects
// afterwards. When Prune returns, the removal is durable. After an interruption it can be
// repeated.
func Run(ctx context.Context, x *checkpoint.Session, o Options) (*Pruned, error) {
	if _, err := x.Drain(ctx); err != nil {
		return nil, err
	}
	if p := o.Planned; p.validFor(x.State()) {
		return p, carryOut(ctx, x, p, retentionReason)
	}
	records, err := inventory.ReadSessions(x.Store(), x.PRD(), x.State())
	if err != nil {
		return nil, err
	}
	p, err := planPrune(ctx, x.Store(), x.PRD(), records, o, x.Store().Policy().Retention.MaxSizeMB > 0)
	if err != nil {
		return nil, err
	}
	return p, carryOut(ctx, x, p, retentionReason)
}

// validFor reports whether the plan was made for a state and can be carried out
// unchanged. A plan with archived sessions or warnings can't: the state does not tell
// whether those sessions changed, and what could not be examined must be tried again.
func (p *Pruned) validFor(s *state.State) bool {
	return p != nil && s != nil && p.session == s.Session && p.seq == s.Seq && len(p.Sessions)+len(p.Warnings) == 0
}

// carryOut removes what the plan lists. It removes checkpoints from the journal before
// their files, so that the journal never names a checkpoint that is half removed.
func carryOut(ctx context.Context, x *checkpoint.Session, p *Pruned, reason string) error {
	if len(p.Checkpoints) > 0 {
		ids := make([]string, len(p.Checkpoints))
		for i, c := range p.Checkpoints {
			ids[len(ids)-1-i] = c.ID // the newest first, because they are found fastest
		}
		x.Add(state.CheckpointsRemoved{IDs: ids, Reason: state.Text(reason)})
		if err := x.Commit(ctx); err != nil {
			return err
		}
	}
	for _, session := range p.Sessions {
		if session.unread {
			if err := x.Store().KeepUnread(x.PRD(), session.dir); err != nil {
				return fmt.Errorf("remove %s: %w", filepath.FromSlash(session.ID), err)
			}
		}
		if err := x.Store().Layout().Discard(x.PRD(), session.dir); err != nil {
			return fmt.Errorf("remove %s: %w", filepath.FromSlash(session.ID), err)
		}
	}
	return nil
}

// unplanned is the reason for keeping what the user's plan does not remove.
const unplanned = "the user has not agreed to remove it"

// removedIDs returns the IDs of what a plan removes, nil if there is no plan.
func (p *Pruned) removedIDs() map[string]bool {
	if p == nil {
		return nil
	}
	ids := make(map[string]bool, len(p.Checkpoints)+len(p.Sessions))
	for _, c := range p.Checkpoints {
		ids[c.ID] = true
	}
	for _, session := range p.Sessions {
		ids[session.ID] = true
	}
	return ids
}

// decide applies the policy to the checkpoints of a state. If agreed is not nil, only
// checkpoints in it may go.
func (p *Pruned) decide(s *state.State, policy retention.Policy, pass retention.Pass, agreed map[string]bool) {
	pass.Needed = neededBy(s)
	all := make([]retention.Checkpoint, len(s.Checkpoints))
	for i, ref := range s.Checkpoints {
		all[i] = checkpoint.ForRetention(ref)
		if agreed != nil && !agreed[ref.ID] {
			pass.Needed[ref.ID] = cmp.Or(pass.Needed[ref.ID], unplanned)
		}
	}
	result := retention.Decide(all, policy, pass)
	kept := make([]*state.CheckpointRef, 0, len(s.Checkpoints))
	for i, d := range result.Decisions {
		if d.Keep {
			kept = append(kept, s.Checkpoints[i])
			p.Keeps = append(p.Keeps, KeptCheckpoint{CheckpointRef: s.Checkpoints[i], Why: d.Reason})
			continue
		}
		p.Checkpoints = append(p.Checkpoints, RemovedCheckpoint{CheckpointRef: s.Checkpoints[i], Why: d.Reason, Bytes: d.Bytes})
	}
	p.Kept, p.Over, p.Doubted = len(kept), result.Over, result.Doubted
	p.Freed += result.Freed
	p.Lost = lostMessages(s, p.Checkpoints, kept)
}

// neededBy returns the checkpoints that the state needs, with the reasons.
func neededBy(s *state.State) map[string]string {
	needed := map[string]string{}
	if current := s.CurrentCheckpoint(); current != nil {
		needed[current.ID] = "the session stands at it"
	}
	maps.Copy(needed, s.Undoers())
	for _, id := range s.FinishedWith() {
		needed[id] = "by a rollback that is not finished"
	}
	return needed
}

// lostMessages returns messages about the steps and rollbacks that the user can no
// longer go back to or undo once checkpoints are removed.
func lostMessages(s *state.State, removed []RemovedCheckpoint, kept []*state.CheckpointRef) []string {
	steps := state.Moments(slices.DeleteFunc(slices.Clone(kept), func(ref *state.CheckpointRef) bool {
		return ref.Unusable() != "" || ref.Trigger == state.TriggerPreRollback
	}))
	var all []string
	told := map[int]bool{}
	for _, c := range removed {
		switch _, there := steps[c.Step]; {
		case c.Unusable() != "":
		case c.Trigger == state.TriggerPreRollback:
			if undone := s.RollbackWith(c.ID); undone != "" {
				all = append(all, fmt.Sprintf("rollback %s can no longer be undone", undone))
			}
		case !there && !c.Later && !told[c.Step]:
			told[c.Step] = true
			all = append(all, nearest(c.CheckpointRef, steps))
		}
	}
	return all
}

// nearest returns a message that a step is lost, with the nearest checkpoint before it.
func nearest(ref *state.CheckpointRef, steps map[int]*state.CheckpointRef) string {
	what := fmt.Sprintf("step %d can no longer be gone back to", ref.Step)
	if ref.StepName != "" {
		what = fmt.Sprintf("step %d (%s) can no longer be gone back to", ref.Step, ref.StepName)
	}
	before := -1
	for step := range steps {
		if step < ref.Step {
			before = max(before, step)
		}
	}
	if before < 0 {
		return what + ", nor anything before it"
	}
	return fmt.Sprintf("%s; the nearest before it is step %d, %s", what, before, steps[before].ID)
}

// Clock returns the present time, with the recorded times that show how reliable it is.
func Clock(x *checkpoint.Session) retention.Clock {
	if st := x.State(); st != nil {
		return newClock(x.Store(), []*reader.Record{{State: st}})
	}
	return retention.Clock{Now: x.Store().Now()}
}

// newClock returns the clock by which the ages of the sessions of a PRD are judged. The
// session of a called pipeline is judged by its own readings alone: a pipeline may call
// thousands, and each of them would read the documents of all others.
func newClock(s *checkpoint.Store, records []*reader.Record) retention.Clock {
	c := retention.Clock{Now: s.Now(), Seen: readings(records)}
	if !slices.ContainsFunc(records, func(r *reader.Record) bool { return r.State.Caller != nil }) {
		c.Others = sync.OnceValue(func() []time.Time { return documentTimes(s) })
	}
	return c
}

// withReadings returns a clock with the readings of another one added.
func withReadings(c, other retention.Clock) retention.Clock {
	c.Seen = slices.Concat(c.Seen, other.Seen)
	if own := c.Others; own != nil && other.Others != nil {
		c.Others = func() []time.Time { return slices.Concat(own(), other.Others()) }
	}
	return c
}

// readings returns the times that the sessions of a PRD have recorded.
func readings(records []*reader.Record) []time.Time {
	var seen []time.Time
	for _, r := range records {
		seen = append(seen, r.State.CreatedAt, r.State.UpdatedAt)
		for _, past := range r.State.Rollbacks {
			seen = append(seen, past.At)
		}
		for _, ref := range r.State.Checkpoints {
			seen = append(seen, ref.CreatedAt)
		}
		for w := range r.State.Records() {
			if w.EndedAt != nil {
				seen = append(seen, *w.EndedAt)
			}
		}
	}
	return seen
}

// documentTimes returns the times in the documents of all PRDs. What can't be read is left
// out: with fewer readings, retention only keeps more.
func documentTimes(s *checkpoint.Store) []time.Time {
	prds, err := s.Reader().PRDs()
	if err != nil {
		return nil
	}
	var seen []time.Time
	for _, prd := range prds {
		d, err := s.Layout().ReadDocument(prd)
		if err != nil || d == nil {
			continue
		}
		if at, err := time.Parse(time.RFC3339, d.Timestamp); err == nil {
			seen = append(seen, at)
		}
	}
	return seen
}

// decideSessions applies the policy to the archived sessions of a PRD. If agreed is not
// nil, only sessions in it may go.
func decideSessions(s *checkpoint.Store, p *Pruned, records []*reader.Record, pass retention.Pass, agreed map[string]bool) error {
	places, err := s.Layout().SessionDirs(p.PRD)
	if err != nil {
		return err
	}
	byID := map[string]*reader.Record{}
	for _, r := range records {
		byID[r.ID] = r
	}
	removed, err := s.Layout().ReadActs(p.PRD)
	if err != nil {
		return err
	}
	pass.Needed = neededForActs(records, removed.Acts)
	var sessions []retention.Session
	dirs := map[string]disk.SessionDir{}
	for _, at := range places {
		if ext := filepath.Ext(at.Dir); at.Place == disk.PlaceCurrent || ext == disk.ArchivingExt || ext == disk.ImportingExt {
			continue
		}
		a, why, err := archivedSession(s, at, byID[at.ID])
		if err != nil {
			return err
		}
		if agreed != nil && !agreed[a.ID] {
			why = cmp.Or(why, unplanned)
		}
		if why != "" {
			pass.Needed[a.ID] = why
		}
		sessions, dirs[a.ID] = append(sessions, a), at
	}
	result := retention.DecideSessions(sessions, s.Policy().Retention, pass)
	for i, d := range result.Decisions {
		if d.Keep {
			continue
		}
		a := sessions[i]
		p.Sessions = append(p.Sessions, RemovedSession{
			ID: a.ID, Complete: a.Complete, EndedAt: a.EndedAt, Why: d.Reason, Bytes: d.Bytes, dir: dirs[a.ID].Dir, unread: byID[a.ID] == nil,
		})
	}
	p.Freed += result.Freed
	p.Doubted += result.Doubted
	slices.SortStableFunc(p.Sessions, func(a, b RemovedSession) int { return a.EndedAt.Compare(b.EndedAt) })
	return nil
}

// archivedSession describes an archived session for retention, and returns why it must
// stay, "" if it may go. For an unreadable session, the time in its name counts. It must
// stay if its name has no time, or if a newer version of Runner wrote it.
func archivedSession(s *checkpoint.Store, at disk.SessionDir, r *reader.Record) (a retention.Session, keep string, err error) {
	a = retention.Session{ID: at.ID, PRD: at.PRD, Complete: at.Place == disk.PlaceHistory, EndedAt: at.ArchivedAt}
	if a.Bytes, err = store.TreeSize(s.Layout().FS, at.Dir); err != nil {
		return a, "", err
	}
	if r != nil {
		a.EndedAt = r.State.UpdatedAt
		a.Pinned = slices.ContainsFunc(r.State.Checkpoints, func(ref *state.CheckpointRef) bool { return ref.Pinned })
		return a, "", nil
	}
	_, unreadable := s.Reader().ReadRecord(at)
	var version *state.VersionError
	switch {
	case errors.As(unreadable, &version):
		return a, "a newer version wrote it", nil
	case at.ArchivedAt.IsZero():
		return a, "it cannot be read, and nothing tells how old it is", nil
	}
	return a, "", nil
}

// neededForActs returns the archived sessions that are needed because neither the current
// session, nor a removed one, nor a newer archived one knows one of their acts. The keys
// are session ids, and the values say why each session is needed.
func neededForActs(records []*reader.Record, known []state.Act) map[string]string {
	needed := map[string]string{}
	sorted := slices.SortedFunc(slices.Values(records), func(a, b *reader.Record) int {
		return b.State.UpdatedAt.Compare(a.State.UpdatedAt)
	})
	for _, r := range records {
		if r.Place == disk.PlaceCurrent {
			known = state.MergeActs(known, r.State.KnownActs()...)
		}
	}
	for _, r := range sorted {
		acts := r.State.KnownActs()
		if lacking := state.UnknownActs(acts, known); len(lacking) > 0 {
			needed[r.ID] = fmt.Sprintf("no other session knows that %s happened", lacking[0].Workstream)
		}
		known = state.MergeActs(known, acts...)
	}
	return needed
}
