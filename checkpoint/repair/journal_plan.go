package repair

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// ErrNotDamaged reports that the journal is whole, so that there is nothing to rebuild.
var ErrNotDamaged = errors.New("the journal is whole: there is nothing to rebuild")

// JournalRebuild is the plan, and later the result, of rebuilding a damaged journal. It is
// plain data.
type JournalRebuild struct {
	Damage  *state.DamagedError
	Session string
	From    string // the checkpoint whose state the new journal begins with; "": the last commit before the damage
	FromSeq uint64 // commit of that state
	Step    int
	Seq     uint64 // of the new journal's first line; commit numbers are never reused
	// Lost are commits that can be read but not applied, because an earlier commit is gone.
	Lost       []LostCommit
	Unreadable int                 // lines that can't be read
	Untold     int                 // commits that are proved to have existed and that can't be read
	More       bool                // there may have been more commits
	Rollbacks  []MetRollback       // rollbacks that were under way in the state, or that began in a lost commit
	Import     *disk.PendingImport // the interrupted import that is given up, since the new journal lacks its commit; nil if there is none
	Uncertain  []string            // workstreams that must happen only once and may have happened since
	Gone       []string            // checkpoints that no file and no journal holds any more
	Kept       string              // directory of the damaged files, after the rebuild

	state *state.State
	prev  string
	ended uint64            // the commit after FromSeq that ended the state's rollback; 0 if none did
	made  map[string][]byte // encoded checkpoints that only the damaged journal still holds, by id
	stray []string          // checkpoints whose file is damaged or belongs to a lost commit
}

// State returns the state that the new journal begins with.
func (r *JournalRebuild) State() *state.State { return r.state }

// LostCommit is a commit that can no longer be applied.
type LostCommit struct {
	Seq    uint64    `json:"seq"`
	Time   time.Time `json:"time"`
	Events []string  `json:"events"` // kind and subject of each event
}

// PlanJournalRebuild returns what RebuildJournal would do. It takes no lock and changes
// nothing.
func PlanJournalRebuild(s *checkpoint.Store, prd string) (*JournalRebuild, error) {
	if err := s.Reader().CheckID(prd); err != nil {
		return nil, err
	}
	r := &JournalRebuild{made: map[string][]byte{}}
	if _, err := s.Load(prd); err == nil {
		return nil, fmt.Errorf("rebuild the journal of %s: %w", prd, ErrNotDamaged)
	} else if !errors.As(err, &r.Damage) {
		return nil, err
	}
	if r.Damage.Lost {
		return nil, fmt.Errorf("rebuild the journal of %s: %w", prd, r.Damage)
	}
	if err := s.Layout().RefuseNewer(prd); err != nil {
		return nil, err
	}
	old, err := salvage(s, prd)
	if err != nil {
		return nil, err
	}
	if err := chooseState(s, prd, r, old); err != nil {
		return nil, err
	}
	if err := endRollback(s, prd, r, old); err != nil {
		return nil, err
	}
	reportLost(r, old)
	r.Seq = max(old.Last, r.FromSeq) + uint64(r.Unreadable)
	r.makeContinuable(old)
	if r.Import, err = s.Layout().ReadPending(prd, s.Layout().PendingPath(prd)); err != nil {
		return nil, err
	}
	return r, checkFiles(s, prd, r, old)
}

// salvage reads what can be read of the journal. The highest commit number is that of the
// journal, the document or the manifest.
func salvage(s *checkpoint.Store, prd string) (*journal.Salvaged, error) {
	path := s.Layout().JournalPath(prd)
	old, err := journal.Salvage(path, store.OpenLog(s.FS(), path))
	if err != nil {
		return nil, err
	}
	claims, err := wholeClaims(s, prd)
	for _, c := range claims {
		old.Last = max(old.Last, c.Seq)
	}
	return old, err
}

// wholeClaims returns the claims of the document and the manifest, as far as these are
// whole.
func wholeClaims(s *checkpoint.Store, prd string) ([]disk.Claim, error) {
	d, err := s.Layout().ReadDocument(prd)
	var newer *state.VersionError
	if errors.As(err, &newer) {
		return nil, newer
	}
	return s.Layout().ReadClaims(prd, s.Layout().PRDDir(prd), d)
}

// chooseState finds the newest state that can be proved: from the lines before the damage,
// from a segment, or from a checkpoint file.
func chooseState(s *checkpoint.Store, prd string, r *JournalRebuild, old *journal.Salvaged) error {
	var from []candidate
	if old.Valid.State != nil {
		from = append(from, candidate{state: old.Valid.State, seq: old.Valid.State.Seq})
	}
	segments, err := segmentStates(s, prd, old)
	if err != nil {
		return err
	}
	from = append(from, segments...)
	files, err := fileStates(s, prd)
	if err != nil {
		return err
	}
	from = append(from, files...)
	if r.Session, err = sessionOf(s, prd, from); err != nil {
		return err
	}
	best := candidate{}
	for _, c := range from {
		if c.state.Session == r.Session && c.seq > best.seq {
			best = c
		}
	}
	if best.state == nil {
		return fmt.Errorf("rebuild the journal of %s: no checkpoint file is whole, so that there is nothing to begin with: %w", prd, r.Damage)
	}
	r.state, r.From, r.FromSeq, r.Step = best.state.Clone(), best.id, best.seq, best.state.CurrentStep()
	if r.prev = old.Sums[best.seq]; r.prev == "" {
		r.prev = journal.Genesis
	}
	return nil
}

// candidate is a state that a new journal could begin with.
type candidate struct {
	id    string // the checkpoint's id; "" if the state is from a journal
	seq   uint64
	state *state.State
}

func segmentStates(s *checkpoint.Store, prd string, old *journal.Salvaged) ([]candidate, error) {
	paths, err := s.Layout().Journals(s.Layout().PRDDir(prd))
	if err != nil {
		return nil, err
	}
	var found []candidate
	for _, path := range paths[1:] {
		f := journal.NewFold()
		t, err := journal.Replay(prd, path, store.OpenLog(s.FS(), path), f.Apply)
		if err == nil && f.State != nil {
			found = append(found, candidate{state: f.State, seq: t.Seq})
			old.Sums[t.Seq] = t.Sum
		}
	}
	return found, nil
}

func fileStates(s *checkpoint.Store, prd string) ([]candidate, error) {
	files := s.Layout().CheckpointsIn(s.Layout().PRDDir(prd))
	ids, err := files.IDs()
	if err != nil {
		return nil, err
	}
	var found []candidate
	for _, id := range ids {
		stored, err := files.Read(id)
		if err != nil {
			return nil, err
		}
		f, err := stored.Decode()
		if err == nil && f.ID == id && f.PRD == prd && f.State.Seq == f.Seq && f.State.Session == f.Session {
			found = append(found, candidate{id: f.ID, seq: f.Seq, state: f.State})
		}
	}
	return found, nil
}

// sessionOf returns the id of the session that the damaged journal belongs to.
func sessionOf(s *checkpoint.Store, prd string, from []candidate) (string, error) {
	for _, c := range from {
		if c.id == "" { // from a journal
			return c.state.Session, nil
		}
	}
	claims, err := wholeClaims(s, prd)
	switch {
	case err != nil:
		return "", err
	case len(claims) > 0:
		return claims[0].Session, nil
	}
	var sessions []string
	for _, c := range from {
		sessions = append(sessions, c.state.Session)
	}
	slices.Sort(sessions)
	if sessions = slices.Compact(sessions); len(sessions) > 1 {
		return "", fmt.Errorf("rebuild the journal of %s: there are checkpoints of several sessions, and nothing says which is the current one: %q", prd, sessions)
	}
	if len(sessions) == 0 {
		return "", nil
	}
	return sessions[0], nil
}

// checkFiles finds the checkpoints of the state that have no valid file, and encodes those
// that the damaged journal still holds. It records the files that belong to no checkpoint
// of the state in r.stray.
func checkFiles(s *checkpoint.Store, prd string, r *JournalRebuild, old *journal.Salvaged) error {
	files := s.Layout().CheckpointsIn(s.Layout().PRDDir(prd))
	ids, err := files.IDs()
	if err != nil {
		return err
	}
	without := map[string]bool{}
	for _, ref := range r.state.Checkpoints {
		without[ref.ID] = true
	}
	for _, id := range ids {
		stored, err := files.Read(id)
		if errors.Is(err, fs.ErrNotExist) { // gone since it was listed
			continue
		}
		if err != nil {
			return err
		}
		f, err := stored.Decode()
		ref := r.state.Checkpoint(id)
		if err != nil || ref == nil || f.ID != id || f.Seq != ref.Seq || f.Session != r.Session {
			r.stray = append(r.stray, id)
			continue
		}
		delete(without, id)
	}
	return fromJournals(s, prd, r, old, without)
}

// fromJournals encodes the checkpoints that have no file, from the readable lines of the
// journal and its segments. It marks the checkpoints that it can't find as damaged.
func fromJournals(s *checkpoint.Store, prd string, r *JournalRebuild, old *journal.Salvaged, without map[string]bool) error {
	keep := func(f disk.CheckpointFile) error {
		state, err := disk.EncodeState(f.State)
		if err != nil {
			return err
		}
		parts, err := disk.EncodeCheckpoint(f, state)
		r.made[f.ID] = bytes.Join(parts, nil)
		return err
	}
	k := journal.CheckpointCollector{Fold: journal.NewFold(), IDs: without, Found: map[string]bool{}, Made: keep}
	if err := collectLines(s, prd, k, old); err != nil {
		return err
	}
	for _, ref := range r.state.Checkpoints {
		if _, made := r.made[ref.ID]; without[ref.ID] && !made {
			r.Gone = append(r.Gone, ref.ID)
			ref.Damage, ref.Valid = &state.Damage{At: s.Now(), Reason: "its file is missing, and the journal that held it was damaged"}, false
		}
	}
	return nil
}

// collectSegments passes the commits of the segments to a collector. The segments are not
// changed.
func collectSegments(s *checkpoint.Store, prd string, k journal.CheckpointCollector) error {
	paths, err := s.Layout().Journals(s.Layout().PRDDir(prd))
	if err != nil {
		return err
	}
	for _, path := range paths[1:] {
		k.Fold = journal.NewFold()
		var damaged *state.DamagedError
		if _, err := journal.Replay(prd, path, store.OpenLog(s.FS(), path), k.Visit); err != nil && !errors.As(err, &damaged) {
			return err
		}
	}
	return nil
}
