package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// exporting is one attempt at an export.
type exporting struct {
	store   *checkpoint.Store
	w       *workspace.Workspace
	prd     string
	dir     string     // the session's directory
	journal store.File // stays open, and the same file, if another one replaces it
	size    int64      // of the journal when it was read
	state   *state.State
	files   []store.File
	reader  *workspace.Reader
	needed  *needed
	lost    []workspace.Entry // entries whose stored bytes can't be read
	reasons map[string]string // why entries are lost, by digest
	entries []bundle.Entry
	done    Exported
}

// gather collects everything except objects: first the journal up to its last complete
// commit, then the files that the state at that commit names.
func (x *exporting) gather(ctx context.Context, logs bool) error {
	d, err := x.readDocument()
	if err != nil {
		return err
	}
	claims, err := x.store.Layout().ReadClaims(x.prd, x.dir, d)
	if err != nil {
		return err
	}
	began, err := x.gatherJournal(claims)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return x.gatherSegments(began) },
		func() error { return x.gatherDerived(d) },
		x.gatherImported,
		func() error { return x.gatherCheckpoints(ctx) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if logs {
		return x.gatherLogs()
	}
	return nil
}

// readDocument returns the document of the current session. It is nil if it is damaged,
// and for an archived session, whose state is in its journal.
func (x *exporting) readDocument() (*document.File, error) {
	if x.dir != x.store.Layout().PRDDir(x.prd) {
		return nil, nil
	}
	d, err := x.store.Layout().ReadDocument(x.prd)
	var damaged *state.DamagedError
	if errors.As(err, &damaged) {
		return d, nil
	}
	return d, err
}

// gatherJournal adds the journal. It returns the Seq and Prev of the journal's first line.
func (x *exporting) gatherJournal(claims []disk.Claim) (began state.Commit, err error) {
	path := filepath.Join(x.dir, disk.JournalName)
	x.journal, err = store.OpenRegular(x.store.FS(), path)
	if errors.Is(err, fs.ErrNotExist) {
		return began, checkpoint.ErrNoSession
	}
	if err != nil {
		return began, err
	}
	x.files = append(x.files, x.journal)
	f := journal.NewFold()
	t, err := journal.ReplayRecords(x.prd, path, recordsOf(section(x.journal)), func(c state.Commit) error {
		if began.Seq == 0 {
			began = state.Commit{Seq: c.Seq, Prev: c.Prev}
		}
		return f.Apply(c)
	})
	if err != nil {
		return began, err
	}
	if f.State == nil {
		return began, checkpoint.ErrNoSession
	}
	if err := t.CheckClaims(x.prd, path, f.State, claims); err != nil {
		return began, err
	}
	x.state = f.State
	x.done.ExportHeader = ExportHeader{FormatVersion: state.FormatVersion, PRD: x.prd, Session: x.state.Session, Seq: t.Seq, Sum: t.Sum}
	if i := x.state.Issue; i != nil {
		x.done.Issue = i.Number
	}
	x.done.Rollbacks = len(x.state.Rollbacks)
	x.size = t.Size + int64(len(t.Torn))
	x.addFile(disk.JournalName, x.journal, t.Size)
	return began, nil
}

// endless is the section length with which a file is read to its end.
const endless = 1<<63 - 1

func section(f store.File) io.Reader { return io.NewSectionReader(f, 0, endless) }

// recordsOf returns the lines of a reader.
func recordsOf(r io.Reader) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		lines := store.NewLines(r)
		for {
			r, err := lines.Next()
			if errors.Is(err, io.EOF) || !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// addFile adds the first size bytes of an open file.
func (x *exporting) addFile(name string, f store.File, size int64) {
	x.entries = append(x.entries, bundle.Entry{Name: name, Size: size, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.NewSectionReader(f, 0, size)), nil
	}})
}

func (x *exporting) addBytes(name string, data []byte) {
	x.entries = append(x.entries, bundle.Entry{Name: name, Size: int64(len(data)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}})
}

// addPath adds the first size bytes of a file. It opens the file only when it is read,
// since there may be many files.
func (x *exporting) addPath(name, path string, size int64) {
	x.entries = append(x.entries, bundle.Entry{Name: name, Size: size, Open: func() (io.ReadCloser, error) {
		f, err := store.OpenRegular(x.store.FS(), path)
		if err != nil {
			return nil, err
		}
		return struct {
			io.Reader
			io.Closer
		}{io.LimitReader(f, size), f}, nil
	}})
}

// addCheckpoint adds the file of a checkpoint, decompressed.
func (x *exporting) addCheckpoint(name, id string, size int64) {
	x.entries = append(x.entries, bundle.Entry{Name: name, Size: size, Open: func() (io.ReadCloser, error) {
		stored, err := x.store.Layout().CheckpointsIn(x.dir).Read(id)
		if err != nil {
			return nil, err
		}
		return io.NopCloser(bytes.NewReader(stored.JSON)), stored.Bad
	}})
}

// gatherDerived adds the document and the index. It takes the files if they belong to the
// exported commit, and encodes both from the state otherwise.
func (x *exporting) gatherDerived(d *document.File) error {
	data, err := store.ReadFile(x.store.FS(), x.store.Layout().DocumentPath(x.prd))
	if err != nil || d == nil || !d.Intact() || d.Runner.Session != x.state.Session || d.Runner.Seq != x.state.Seq {
		if data, err = document.New(x.state).Encode(); err != nil {
			return err
		}
	}
	index, err := store.ReadFile(x.store.FS(), filepath.Join(x.dir, disk.ManifestName))
	m, unreadable := x.store.Layout().ReadManifest(x.dir)
	if err != nil || unreadable != nil || m.Session != x.state.Session || m.Seq != x.state.Seq {
		if index, err = disk.NewManifest(x.state).Encode(); err != nil {
			return err
		}
	}
	x.addBytes(exportDocument, data)
	x.addBytes(disk.ManifestName, index)
	return nil
}

// gatherImported adds the document that the session began with, if it began with one.
func (x *exporting) gatherImported() error {
	data, err := store.ReadFile(x.store.FS(), filepath.Join(x.dir, importedName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		x.addBytes(importedName, data)
	}
	return err
}

// gatherCheckpoints adds the file of each checkpoint, and collects the objects that its
// state needs.
func (x *exporting) gatherCheckpoints(ctx context.Context) error {
	x.needed.addHead(x.state)
	for _, ref := range x.state.Checkpoints {
		if err := ctx.Err(); err != nil {
			return err
		}
		state, err := x.gatherCheckpoint(ref)
		if err != nil {
			return err
		}
		if state != nil {
			x.needed.addState(state)
		}
	}
	if err := x.needed.readListings(ctx); err != nil {
		return err
	}
	return x.gatherLeftOut(ctx)
}

// gatherLeftOut records the files that a person must bring to the machine on which the
// session continues.
func (x *exporting) gatherLeftOut(ctx context.Context) error {
	l := &workspace.Listing{}
	if c := x.state.Capture; c != nil {
		if _, lost := x.needed.inventory.Lost[c.Listing]; !lost {
			var err error
			if l, err = x.w.Load(ctx, c.Listing); err != nil {
				return fmt.Errorf("read what a checkpoint captured: %w", err)
			}
		}
	}
	x.done.LeftOut = checkpoint.LeftOut(l, x.state)
	return nil
}

func (x *exporting) gatherCheckpoint(ref *state.CheckpointRef) (*state.State, error) {
	member := disk.CheckpointMember(ref.ID)
	stored, err := x.store.Layout().CheckpointsIn(x.dir).Read(ref.ID)
	var file *disk.CheckpointFile
	if err == nil {
		file, err = stored.Verify(x.prd, x.state.Session, ref)
	}
	var damaged *state.DamagedError
	switch {
	case err == nil:
		x.addCheckpoint(member, ref.ID, int64(len(stored.JSON)))
		x.done.Checkpoints++
		return file.State, nil
	case !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &damaged):
		return nil, err
	}
	made, err := x.store.Reader().Session(x.prd, x.dir).Rebuild(ref.ID)
	if errors.As(err, &damaged) {
		x.done.LostFiles = append(x.done.LostFiles, ref.ID)
		x.done.Lacking = append(x.done.Lacking, Lacking{What: state.Text(ref.ID), Reason: state.Text(damaged.Detail)})
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	state, err := disk.EncodeState(made.State)
	if err != nil {
		return nil, err
	}
	parts, err := disk.EncodeCheckpoint(*made, state)
	x.addBytes(member, bytes.Join(parts, nil))
	x.done.Checkpoints++
	return made.State, err
}

// gatherLogs adds the logs with their current lengths.
func (x *exporting) gatherLogs() error {
	dir := filepath.Join(x.dir, disk.LogsDir)
	entries, err := x.store.FS().ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("list the logs: %w", err)
	}
	for _, e := range entries {
		if !isLogName(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return fmt.Errorf("list the logs: %w", err)
		}
		x.addPath(disk.LogsDir+"/"+e.Name(), filepath.Join(dir, e.Name()), info.Size())
		x.done.Logs++
	}
	return nil
}

// logNamePattern matches the names that LogPath returns.
const logNamePattern = `^[A-Za-z0-9_%-][A-Za-z0-9._%-]*\.[0-9]{1,9}\.log$`

func isLogName(name string) bool { return regexp.MustCompile(logNamePattern).MatchString(name) }

// journalChanged reports whether the journal's size has changed since it was read, or
// another file has its name.
func (x *exporting) journalChanged() bool {
	if x.journal == nil {
		return false
	}
	held, err := x.journal.Stat()
	if err != nil {
		return false
	}
	if held.Size() != x.size {
		return true
	}
	named, err := x.store.FS().Lstat(filepath.Join(x.dir, disk.JournalName))
	return err != nil || !store.Same(held, named)
}

func (x *exporting) close() error {
	var all []error
	for _, f := range x.files {
		all = append(all, f.Close())
	}
	if x.reader != nil {
		all = append(all, x.reader.Close())
	}
	return errors.Join(all...)
}
