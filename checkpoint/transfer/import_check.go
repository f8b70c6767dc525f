package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"

	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
)

// checking is the verification of one unpacked archive.
type checking struct {
	*Import
	segments []bundle.Member // in the order of their commits
	files    map[string]bool // ids of the checkpoints that have a file
	needed   *needed
}

// verify verifies that the members of an archive are valid and belong together.
func (i *Import) verify(ctx context.Context, path string) error {
	if err := i.readHeader(path); err != nil {
		return err
	}
	i.objects = map[string]int64{}
	k := &checking{Import: i, files: map[string]bool{}, needed: newNeeded(i.object)}
	if err := k.sortMembers(); err != nil {
		return err
	}
	for _, step := range []func() error{k.journals, k.checkNames, k.derived, func() error { return k.checkpoints(ctx) }} {
		if err := step(); err != nil {
			var version *state.VersionError
			if errors.As(err, &version) {
				return &state.VersionError{Path: path + ": " + version.Path, Version: version.Version}
			}
			return err
		}
	}
	return k.complete(ctx)
}

func damagedMember(member, format string, args ...any) error {
	return &bundle.DamagedError{Member: member, Detail: fmt.Sprintf(format, args...)}
}

// sortMembers groups the members by their names. It refuses members that an export does not
// write.
func (k *checking) sortMembers() error {
	for _, m := range k.staged.Members {
		dir, base, nested := strings.Cut(m.Name, "/")
		_, _, segment := segmentSpan(m.Name)
		id, checkpoint := disk.CheckpointOfMember(m.Name)
		switch {
		case segment:
			k.segments = append(k.segments, m)
		case !nested && slices.Contains([]string{disk.JournalName, exportDocument, disk.ManifestName, importedName}, m.Name):
		case checkpoint:
			k.files[id] = true
		case dir == disk.LogsDir && isLogName(base):
			k.Logs++
		case dir == disk.ObjectsDir && m.Name == objectMember("sha256:"+m.SHA256):
			k.objects["sha256:"+m.SHA256] = m.Size
			k.Bytes += m.Size
		case dir == disk.ObjectsDir:
			return damagedMember(m.Name, "its bytes are not what its name says")
		default:
			return damagedMember(m.Name, "an export has no such file")
		}
	}
	k.Checkpoints, k.Objects = len(k.files), len(k.objects)
	slices.SortFunc(k.segments, func(a, b bundle.Member) int {
		first, _, _ := segmentSpan(a.Name)
		other, _, _ := segmentSpan(b.Name)
		return int(min(max(int64(first)-int64(other), -1), 1)) //nolint:gosec // of at most 19 digits
	})
	return nil
}

// maxMember bounds the size of a member that is read into memory. Lists of files have
// another limit.
const maxMember = disk.MaxCheckpoint

// readMember returns the content of a member. A member of more than limit bytes is damaged.
func (i *Import) readMember(name string, limit int64) (data []byte, err error) {
	r, err := i.staged.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	data, err = io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = damagedMember(name, "it is longer than such a file can be")
	}
	return data, err
}

// object returns an object of the archive. It implements
// workspace.ObjectSource.
func (i *Import) object(ctx context.Context, digest string, limit int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, there := i.objects[digest]; !there {
		return nil, fmt.Errorf("object %q: %w", digest, fs.ErrNotExist)
	}
	return i.readMember(objectMember(digest), limit)
}

// journals folds the journal, and verifies that each segment continues the one before and
// that the journal continues the last segment.
func (k *checking) journals() error {
	k.lineage = journal.NewLineage()
	before := "" // the checksum that the next journal must continue
	for _, m := range k.segments {
		first, last, _ := segmentSpan(m.Name)
		t, f, began, err := k.replay(m.Name)
		if err != nil {
			return err
		}
		switch {
		case f.State == nil || f.State.Session != k.Session:
			return damagedMember(m.Name, "it is of another session")
		case t.First != first || t.Seq != last:
			return damagedMember(m.Name, "it holds other commits than its name says")
		case before != "" && began.Prev != before:
			return damagedMember(m.Name, "it does not continue the one before it")
		}
		before = t.Sum
	}
	t, f, began, err := k.replay(disk.JournalName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return damagedMember(disk.JournalName, "it is missing")
	case err != nil:
		return err
	case f.State == nil:
		return damagedMember(disk.JournalName, "it holds nothing")
	case f.State.Session != k.Session || f.State.PRD != k.PRD || t.Seq != k.Seq || t.Sum != k.Sum:
		return damagedMember(disk.JournalName, "it is of another session, or another moment, than the header says")
	case before != "" && began.Prev != before:
		return damagedMember(disk.JournalName, "it does not continue %s", k.segments[len(k.segments)-1].Name)
	}
	k.State, k.lineage.Session, k.lineage.Seq = f.State, f.State.Session, t.Seq
	return nil
}

// replay folds a journal of the archive, in which every line must be whole.
func (k *checking) replay(name string) (t journal.Tail, f *journal.Fold, began state.Commit, err error) {
	r, err := k.staged.Open(name)
	if err != nil {
		return t, nil, began, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	f = journal.NewFold()
	t, err = journal.ReplayRecords(k.PRD, name, recordsOf(r), func(c state.Commit) error {
		if began.Seq == 0 {
			began = state.Commit{Seq: c.Seq, Prev: c.Prev}
		}
		k.lineage.Add(c)
		return f.Apply(c)
	})
	var damaged *state.DamagedError
	switch {
	case errors.As(err, &damaged):
		err = damagedMember(name, "line %d: %s", damaged.Line, damaged.Detail)
	case err == nil && len(t.Torn) > 0:
		err = damagedMember(name, "its last line is not whole")
	}
	return t, f, began, err
}

// checkNames verifies the strings of the state that become a part of a file's name or an
// argument of git.
func (k *checking) checkNames() error {
	s := k.State
	for _, ref := range s.Checkpoints {
		if !disk.IsCheckpointID(ref.ID) {
			return damagedMember(disk.JournalName, "%q cannot be the id of a checkpoint", ref.ID)
		}
		if err := k.gitNames(ref.Git, ref.Capture); err != nil {
			return err
		}
	}
	if err := k.gitNames(s.Git, s.RunCapture); err != nil {
		return err
	}
	return k.gitNames(nil, s.Capture)
}

func (k *checking) gitNames(g *state.Git, c *state.Capture) error {
	if g != nil && (!isCommit(g.Commit) || strings.HasPrefix(string(g.Branch), "-")) {
		return damagedMember(disk.JournalName, "%q and %q cannot be a branch and a commit of git", g.Branch, g.Commit)
	}
	if c != nil && (!isCommit(c.Commit) || c.Ref != "" && !strings.HasPrefix(c.Ref, disk.CaptureRefs(k.PRD))) {
		return damagedMember(disk.JournalName, "%q and %q cannot be a reference and a commit of a capture", c.Ref, c.Commit)
	}
	return nil
}

// isCommit reports whether a string can be the hash of a commit, or is empty.
func isCommit(name string) bool {
	return len(name) <= 64 && strings.Trim(name, "0123456789abcdef") == ""
}

// derived verifies that the document and the index belong to this session at this commit.
func (k *checking) derived() error {
	data, err := k.readMember(exportDocument, maxMember)
	if err == nil {
		var d document.File
		if d, err = document.Decode(data); err == nil && (!d.Intact() || d.PRD != k.PRD || d.Runner.Session != k.Session || d.Runner.Seq != k.Seq) {
			err = errors.New("it is not the document of this session")
		}
	}
	if err != nil {
		return k.nameMember(exportDocument, err)
	}
	var m *disk.Manifest
	if data, err = k.readMember(disk.ManifestName, maxMember); err == nil {
		m, err = disk.DecodeManifest(disk.ManifestName, data)
	}
	if err == nil && (m.PRD != k.PRD || m.Session != k.Session || m.Seq != k.Seq) {
		err = errors.New("it is not the index of this session")
	}
	return k.nameMember(disk.ManifestName, err)
}

// nameMember adds the name of the member to an error.
func (k *checking) nameMember(member string, err error) error {
	var version *state.VersionError
	var damaged *bundle.DamagedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &version):
		return &state.VersionError{Path: member, Version: version.Version}
	case errors.As(err, &damaged):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return damagedMember(member, "it is missing")
	}
	return damagedMember(member, "%v", err)
}

// checkpoints verifies that the archive has a file for each checkpoint of the session,
// except those that the header says are lost, and no other files. It collects the objects
// that the checkpoints need.
func (k *checking) checkpoints(ctx context.Context) error {
	k.needed.addHead(k.State)
	for _, ref := range k.State.Checkpoints {
		if err := ctx.Err(); err != nil {
			return err
		}
		lost := slices.Contains(k.LostFiles, ref.ID)
		member := disk.CheckpointMember(ref.ID)
		if k.files[ref.ID] == lost {
			return damagedMember(member, "it is missing, or is there against what the header says")
		}
		delete(k.files, ref.ID)
		if lost {
			continue
		}
		data, err := k.readMember(member, maxMember)
		var f *disk.CheckpointFile
		if err == nil {
			f, err = disk.DecodeCheckpoint(member, data)
		}
		if err == nil && (f.ID != ref.ID || f.Seq != ref.Seq || f.PRD != k.PRD || f.Session != k.Session ||
			f.State.Seq != ref.Seq || f.State.Session != k.Session || f.State.PRD != k.PRD) {
			err = errors.New("it is another checkpoint than the journal says")
		}
		if err != nil {
			return k.nameMember(member, err)
		}
		k.needed.addState(f.State)
	}
	for id := range k.files {
		return damagedMember(disk.CheckpointMember(id), "the session has no such checkpoint")
	}
	return nil
}

// complete verifies that the archive has every needed object, except those that the header
// says are lost, and no other objects.
func (k *checking) complete(ctx context.Context) error {
	if err := k.needed.readListings(ctx); err != nil {
		var damaged *bundle.DamagedError
		if errors.As(err, &damaged) || ctx.Err() != nil {
			return err
		}
		return damagedMember("", "%v", err)
	}
	own := k.needed.inventory
	wanted := map[string]bool{} // by digest; true if the header says that the object is lost
	for _, names := range []iter.Seq[string]{maps.Keys(own.Own), maps.Keys(own.Lost), maps.Keys(k.needed.files)} {
		for digest := range names {
			wanted[digest] = false
		}
	}
	for _, digest := range k.LostObjects {
		wanted[digest] = true
	}
	for _, digest := range slices.Sorted(maps.Keys(wanted)) {
		if _, there := k.objects[digest]; !there && !wanted[digest] {
			return damagedMember(objectMember(digest), "it is missing")
		}
	}
	for digest := range k.objects {
		if lost, needed := wanted[digest]; !needed || lost {
			return damagedMember(objectMember(digest), "nothing needs it, or the header says that it is missing")
		}
	}
	return nil
}
