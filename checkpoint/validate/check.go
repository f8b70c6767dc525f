package validate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// checker validates checkpoints. It remembers what it has checked, since checkpoints have
// most of their files in common.
type checker struct {
	store *checkpoint.Store
	w     *workspace.Workspace // nil: files are not checked
	deep  bool

	bytes   map[string]string // by bytesOf: why the bytes of an entry can't be restored; "" if they can
	lists   map[string]string // by listing: why the listing can't be read
	commits map[string]bool
	kept    map[string]bool // commits that references of Runner keep; nil until git is asked
}

func newChecker(s *checkpoint.Store, w *workspace.Workspace, deep bool) *checker {
	return &checker{store: s, w: w, deep: deep, bytes: map[string]string{}, lists: map[string]string{}, commits: map[string]bool{}}
}

// checkSession checks the checkpoints of a session. If wanted is not empty it checks
// only those in wanted.
func (k *checker) checkSession(ctx context.Context, at reader.StoredSession, wanted map[string]bool) (*SessionCheck, error) {
	c := &SessionCheck{StoredSession: at}
	if at.Err != nil {
		if !errors.As(at.Err, &c.Journal) {
			return nil, at.Err
		}
		return c, k.checkFiles(ctx, c, wanted)
	}
	current := at.State.CurrentCheckpoint()
	for _, ref := range at.State.Checkpoints {
		if len(wanted) > 0 && !wanted[ref.ID] {
			continue
		}
		check, err := k.checkCheckpoint(ctx, at, ref)
		if err != nil {
			return nil, err
		}
		check.Current = ref == current
		c.Checkpoints = append(c.Checkpoints, *check)
	}
	return c, nil
}

// checkFiles checks the checkpoint files of a session whose journal is damaged. They are
// then the only proof of what the checkpoints were.
func (k *checker) checkFiles(ctx context.Context, c *SessionCheck, wanted map[string]bool) error {
	ids, err := k.store.Layout().CheckpointsIn(c.Dir).IDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if len(wanted) > 0 && !wanted[id] {
			continue
		}
		stored, err := k.store.Layout().CheckpointsIn(c.Dir).Read(id)
		if errors.Is(err, fs.ErrPermission) {
			check := CheckpointCheck{Ref: &state.CheckpointRef{ID: id, Valid: true}, Hash: FoundUnknown, Schema: FoundUnknown, Objects: FoundUnknown, Git: FoundUnknown}
			check.File = check.unreadable(err)
			check.problem("its file cannot be read: %v", err)
			c.Checkpoints = append(c.Checkpoints, check)
			continue
		}
		if err != nil {
			return err
		}
		var ref state.CheckpointRef
		_ = json.Unmarshal(stored.JSON, &ref) // as far as the file can be read
		ref.ID, ref.Valid = id, true
		check := &CheckpointCheck{Ref: &ref, File: FoundOK}
		if f := k.decode(check, stored, ""); f != nil {
			if own := f.State.Checkpoint(id); own != nil {
				check.Ref = own
			}
			if err := k.checkContents(ctx, check, f.State); err != nil {
				return err
			}
		}
		c.Checkpoints = append(c.Checkpoints, *check)
	}
	slices.SortStableFunc(c.Checkpoints, func(a, b CheckpointCheck) int { return cmp.Compare(a.Ref.Seq, b.Ref.Seq) })
	return nil
}

// checkCheckpoint checks one checkpoint of a session whose journal is whole.
func (k *checker) checkCheckpoint(ctx context.Context, at reader.StoredSession, ref *state.CheckpointRef) (*CheckpointCheck, error) {
	c := &CheckpointCheck{Ref: ref}
	state, err := k.checkFile(c, at)
	if err != nil {
		return nil, err
	}
	if state == nil {
		c.Objects, c.Git = FoundUnknown, FoundUnknown
	} else if err := k.checkContents(ctx, c, state); err != nil {
		return nil, err
	}
	if ref.Damage != nil && c.Whole() {
		marked := fmt.Sprintf("it was marked as damaged at %s: %s", ref.Damage.At.Format("2006-01-02 15:04:05"), ref.Damage.Reason)
		if k.deep {
			c.Notes = append(c.Notes, marked+"; it is whole now")
		} else {
			c.Problems = append(c.Problems, marked)
		}
	}
	return c, nil
}

// lastWhole returns the newest whole checkpoint that led to the session's state, leaving
// out the checkpoint with the id except.
func (k *checker) lastWhole(ctx context.Context, at reader.StoredSession, except string) (*state.CheckpointRef, error) {
	for _, ref := range slices.Backward(at.State.ValidTrail()) {
		if ref.ID == except {
			continue
		}
		c, err := k.checkCheckpoint(ctx, at, ref)
		if err != nil {
			return nil, fmt.Errorf("look for the last valid checkpoint of %s: %w", at.PRD, err)
		}
		switch {
		case c.Whole():
			return ref, nil
		case errors.Is(c.Unread, fs.ErrPermission): // it may be whole
			return nil, fmt.Errorf("look for the last valid checkpoint of %s: %w", at.PRD, c.Unread)
		}
	}
	return nil, nil
}

// checkFile checks the file of a checkpoint. It returns the state in the file. If the
// file is missing or damaged it returns the state from the journal, nil if the journal
// does not have it.
func (k *checker) checkFile(c *CheckpointCheck, at reader.StoredSession) (*state.State, error) {
	stored, err := k.store.Layout().CheckpointsIn(at.Dir).Read(c.Ref.ID)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err == nil:
		c.File = FoundOK
		if f := k.decode(c, stored, at.State.Session); f != nil {
			if f.ID == c.Ref.ID && f.Seq == c.Ref.Seq && f.State.Seq == c.Ref.Seq {
				return f.State, nil
			}
			c.Schema = FoundBad
			c.problem("its file is that of another checkpoint than the journal says")
		}
	case missing:
		c.File, c.Hash = FoundNone, FoundNone
	default:
		c.File, c.Hash, c.Schema = c.unreadable(err), FoundUnknown, FoundUnknown
		c.problem("its file cannot be read: %v", err)
	}
	again, err := k.store.Reader().Session(at.PRD, at.Dir).Rebuild(c.Ref.ID)
	var damaged *state.DamagedError
	switch {
	case err == nil:
		c.Journal = true
		if missing {
			c.Schema = FoundOK
			c.Notes = append(c.Notes, "it has no file; the journal holds it")
		}
		return again.State, nil
	case !errors.As(err, &damaged):
		return nil, err
	case missing:
		c.File, c.Schema = FoundBad, FoundUnknown
		c.problem("%s", damaged.Detail)
	}
	return nil, nil
}

// unreadable returns the finding for a part that gives an error when it is read. A
// permission error does not prove damage, since a user who may read the part may find it
// whole. unreadable then sets c.Unread.
func (c *CheckpointCheck) unreadable(err error) Finding {
	if !errors.Is(err, fs.ErrPermission) {
		return FoundBad
	}
	c.Unread = cmp.Or(c.Unread, fmt.Errorf("look at checkpoints: %w", err))
	return FoundUnknown
}

// decode checks the bytes of a checkpoint's file. It returns nil if they are not the bytes
// that Runner wrote, or can't be used.
func (k *checker) decode(c *CheckpointCheck, stored *disk.StoredCheckpoint, session string) *disk.CheckpointFile {
	c.Checksum = state.ChecksumOf(stored.JSON)
	f, err := stored.Decode()
	var newer *state.VersionError
	if errors.As(err, &newer) {
		c.Unread = cmp.Or(c.Unread, error(newer))
		c.Hash, c.Schema, c.Objects, c.Git = FoundUnknown, FoundBad, FoundUnknown, FoundUnknown
		c.problem("%v", newer)
		return nil
	}
	if _, err := state.Unseal(stored.JSON); err != nil {
		c.Hash, c.Schema, c.Objects, c.Git = FoundBad, FoundUnknown, FoundUnknown, FoundUnknown
		if stored.Bad != nil {
			c.problem("its file is damaged: %v", stored.Bad)
		} else {
			c.problem("the checksum of its file is wrong")
		}
		return nil
	}
	c.Hash, c.Schema = FoundOK, FoundOK
	if err == nil && session != "" && f.Session != session {
		err = fmt.Errorf("it is of session %s", f.Session)
	}
	if err != nil {
		c.Schema, c.Objects, c.Git = FoundBad, FoundUnknown, FoundUnknown
		c.problem("its state cannot be used: %v", err)
		return nil
	}
	return f
}

func (c *CheckpointCheck) problem(format string, args ...any) {
	c.Problems = append(c.Problems, fmt.Sprintf(format, args...))
}

// checkContents checks the data that a checkpoint refers to: the bytes of its files, and
// the commit that keeps them.
func (k *checker) checkContents(ctx context.Context, c *CheckpointCheck, s *state.State) error {
	c.Objects, c.Git = FoundUnknown, FoundNone
	if k.w == nil {
		c.Git = FoundUnknown
		return nil
	}
	c.Objects = FoundOK
	wrong, err := k.objects(ctx, c, s)
	switch {
	case errors.Is(err, fs.ErrPermission):
		c.Objects = c.unreadable(err)
		c.problem("its files cannot be looked at: %v", err)
	case err != nil:
		return err
	case wrong != "":
		c.Objects = FoundBad
		c.problem("%s", wrong)
	}
	if err := k.checkCommit(ctx, c, s); errors.Is(err, fs.ErrPermission) {
		c.Git = c.unreadable(err)
		c.problem("git cannot be asked: %v", err)
	} else if err != nil {
		return err
	}
	return nil
}

// objects returns the problem with the bytes of a state's files, "" if there is none.
func (k *checker) objects(ctx context.Context, c *CheckpointCheck, s *state.State) (string, error) {
	if s.Capture != nil {
		if wrong := k.lists[s.Capture.Listing]; wrong != "" {
			return wrong, nil
		}
	}
	l, _, err := checkpoint.FilesOf(ctx, k.w, s)
	var newer *workspace.VersionError
	if errors.As(err, &newer) {
		c.Unread = cmp.Or(c.Unread, error(newer))
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, fs.ErrPermission):
		return "", err
	case err != nil && s.Capture != nil:
		wrong := "the list of its files cannot be read: " + err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			wrong = "the list of its files is lost: " + objects.LostMessage(err)
		}
		k.lists[s.Capture.Listing] = wrong
		return wrong, nil
	case err != nil:
		return "", err
	}
	return k.entries(ctx, l.Entries)
}

// entries returns the problem with the bytes of some files, "" if there is none.
func (k *checker) entries(ctx context.Context, entries []workspace.Entry) (string, error) {
	var fresh []workspace.Entry
	for _, e := range entries {
		if _, known := k.bytes[bytesOf(e)]; !known {
			k.bytes[bytesOf(e)] = ""
			fresh = append(fresh, e)
		}
	}
	missing, err := k.w.Contents().Lost(ctx, fresh, k.deep)
	if err != nil {
		for _, e := range fresh {
			delete(k.bytes, bytesOf(e))
		}
		return "", fmt.Errorf("look for the files of checkpoints: %w", err)
	}
	if len(missing) > 0 {
		byPath := map[string]workspace.Entry{}
		for _, e := range fresh {
			byPath[e.Path] = e
		}
		for _, m := range missing {
			k.bytes[bytesOf(byPath[m.Path])] = m.Reason
		}
	}
	return k.summary(entries), nil
}

// bytesOf returns a key for the place that keeps the bytes of an entry.
func bytesOf(e workspace.Entry) string { return e.Digest + " " + e.Blob }

// summary names the first file whose bytes can't be restored, and counts the others.
func (k *checker) summary(entries []workspace.Entry) string {
	first, count := "", 0
	for _, e := range entries {
		if reason := k.bytes[bytesOf(e)]; reason != "" {
			if count++; count == 1 {
				first = fmt.Sprintf("%s: %s", e.Path, reason)
			}
		}
	}
	if count > 1 {
		return fmt.Sprintf("%s, and %d more files that cannot be restored", first, count-1)
	}
	return first
}

// checkCommit checks the commit that keeps a capture. If the commit of the user's branch
// is gone it only adds a note, since nothing is restored from that commit.
func (k *checker) checkCommit(ctx context.Context, c *CheckpointCheck, s *state.State) error {
	if s.Capture != nil && s.Capture.Commit != "" {
		there, err := k.hasCommit(ctx, s.Capture.Commit)
		if err != nil {
			return err
		}
		c.Git = FoundOK
		if there {
			there, err = k.isKept(ctx, s.Capture)
		}
		if err == nil && !there {
			err = k.withoutCommit(ctx, c, s)
		}
		if err != nil {
			return err
		}
	}
	if c.Ref.Git == nil || c.Ref.Git.Commit == "" || k.w.Repository() == nil {
		return nil
	}
	there, err := k.hasCommit(ctx, c.Ref.Git.Commit)
	if err == nil && !there {
		c.Notes = append(c.Notes, fmt.Sprintf("commit %s, where git stood, is no longer there", c.Ref.Git.Commit))
	}
	return err
}

// isKept reports whether a reference of Runner keeps the commit of a capture, which is in
// git. It returns true if the capture records no reference.
func (k *checker) isKept(ctx context.Context, c *state.Capture) (bool, error) {
	if c.Ref == "" {
		return true, nil
	}
	if k.kept == nil {
		refs, err := k.w.Repository().Refs(ctx, strings.TrimSuffix(disk.CaptureRefsRoot, "/"))
		if err != nil {
			return false, fmt.Errorf("look for captures in git: %w", err)
		}
		k.kept = map[string]bool{}
		for _, commit := range refs {
			k.kept[commit] = true
		}
	}
	return k.kept[c.Commit], nil
}

// withoutCommit records that the commit of a capture is not in git, or that no reference
// keeps it. This does no harm if every file is an object, as after an import. As long as
// the bytes exist a rollback can go to the checkpoint, and rebuilding protects the bytes.
func (k *checker) withoutCommit(ctx context.Context, c *CheckpointCheck, s *state.State) error {
	lacks := fmt.Sprintf("commit %s of its files is not in git", s.Capture.Commit)
	if k.commits[s.Capture.Commit] {
		lacks = fmt.Sprintf("no reference keeps commit %s of its files", s.Capture.Commit)
	}
	if c.Objects != FoundOK {
		c.Git = FoundBad
		c.problem("%s", lacks)
		return nil
	}
	stored, err := k.allObjects(ctx, s)
	if err != nil {
		return err
	}
	if c.Git = FoundNone; stored {
		c.Notes = append(c.Notes, lacks+"; all of them are objects")
		return nil
	}
	c.Unkept = lacks
	c.Notes = append(c.Notes, lacks+": git may remove some of them; rebuilding keeps them")
	return nil
}

// allObjects reports whether every file of a state is stored as an object, so that git is
// not needed.
func (k *checker) allObjects(ctx context.Context, s *state.State) (bool, error) {
	l, _, err := checkpoint.FilesOf(ctx, k.w, s)
	if err != nil {
		return false, err
	}
	for _, e := range l.Entries {
		if e.Digest == "" {
			continue
		}
		if there, err := k.store.Objects().Has(e.Digest); err != nil || !there {
			return false, err
		}
	}
	return true, nil
}

func (k *checker) hasCommit(ctx context.Context, commit string) (bool, error) {
	if there, known := k.commits[commit]; known {
		return there, nil
	}
	git := k.w.Repository()
	if git == nil {
		return false, k.w.Contents().CheckGitOpened()
	}
	there, err := git.CommitExists(ctx, commit)
	if err == nil && !there {
		err = git.CheckReadable(commit)
	}
	if err != nil {
		return false, fmt.Errorf("look for commit %s: %w", commit, err)
	}
	k.commits[commit] = there
	return there, nil
}
