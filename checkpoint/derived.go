package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"prdrunner/checkpoint/store"
)

// Between two boundaries that are not waited for, the document stays as it is for
// the longest of these: so neither the time nor the bytes that it takes of a
// boundary grow with the pipeline.
const (
	documentInterval = 100 * time.Millisecond
	documentShare    = 100       // times as long as writing it took
	documentRate     = 160 << 10 // bytes a second
)

// encodedMost is from how many bytes on checkpoint files are not put off any more so
// that they become durable together: each flush by itself costs more than it takes to
// write little.
const encodedMost = 1 << 20

// errGone says that a checkpoint can't be made again, although this session made it.
var errGone = errors.New("it could not be written at first, and the journal has it no more")

// errNotDurable says that something is derived from what a power cut may undo.
var errNotDurable = errors.New("not all that was added is durable")

// derived is what must still be written, and from what.
type derived struct {
	base  *State   // where no checkpoint file that is due lies before
	since []Commit // durable since then
	// due are the kept checkpoints without a file that lie after base or are encoded,
	// lost others, which only the journal can give. What could not be written may have
	// a file all the same, of which the disk does not have the name.
	due     map[string]bool
	lost    map[string]bool
	tried   map[string]bool // of those that are lost, what could not be written in this session
	encoded []newCheckpoint // of those that are due, what base has passed
	size    int             // bytes of these
	unkept  []string        // may have a file, which must go
	latest  string          // the file that the link names; "" is not known
	index   uint64          // seq of the manifest on disk, 0 is not known
	written uint64          // seq of the document on disk, likewise
	at      time.Time       // when that was written, or could not be
	rest    time.Duration   // how long it stays so at least
}

func (d *derived) reset() {
	*d = derived{due: map[string]bool{}, lost: map[string]bool{}, tried: map[string]bool{}}
}

func (d *derived) begin(s *State) { d.base = s.Clone() }

// recover finds out which files are missing, and which are nobody's.
func (d *derived) recover(x *Session) error {
	d.begin(x.live.state)
	if err := x.checkpoints().settle(); err != nil {
		return err
	}
	ids, err := x.checkpoints().ids()
	if err != nil {
		return err
	}
	for _, ref := range x.live.state.Checkpoints {
		d.lost[ref.ID] = true
	}
	for _, id := range ids {
		if !d.lost[id] {
			d.unkept = append(d.unkept, id)
		}
		delete(d.lost, id)
	}
	return nil
}

// take notes what a durable commit asks for, and folds into the base what no
// checkpoint file that is due lies before.
func (d *derived) take(c Commit, files *tracker) error {
	d.since = append(d.since, c)
	for _, e := range c.Events {
		switch e := e.(type) {
		case CheckpointCreated:
			d.due[e.ID] = true
			d.drop(e.Removes, files)
		case CheckpointsRemoved:
			d.drop(e.IDs, files)
		}
	}
	for len(d.since) > 0 && !d.isDue(d.since[0]) {
		if err := d.reach(d.since[0]); err != nil {
			return err
		}
		d.pass()
	}
	return nil
}

// isDue reports whether a checkpoint of a commit must still get its file.
func (d *derived) isDue(c Commit) bool {
	return slices.ContainsFunc(c.Events, func(e Event) bool {
		created, ok := e.(CheckpointCreated)
		return ok && d.due[created.ID]
	})
}

// reach brings the base up to a commit, where it is not there.
func (d *derived) reach(c Commit) error {
	if c.Seq <= d.base.Seq {
		return nil
	}
	if err := d.base.Apply(c); err != nil {
		return fmt.Errorf("fold the journal again: %w", err)
	}
	return nil
}

// pass forgets the first commit since, where the base is.
func (d *derived) pass() {
	d.since[0] = Commit{}
	d.since = d.since[1:]
}

func (d *derived) drop(ids []string, files *tracker) {
	for _, id := range ids {
		files.forget(id)
		if !d.due[id] {
			d.unkept = append(d.unkept, id)
		}
		delete(d.due, id)
		d.found(id)
	}
}

// found notes that a checkpoint is not lost any more.
func (d *derived) found(id string) {
	delete(d.lost, id)
	delete(d.tried, id)
}

// DocumentDue reports whether WriteDerived would write the document without
// being forced to: it is not written at each boundary that nobody waits for.
func (x *Session) DocumentDue() bool {
	if x.live == nil || x.derived.written == x.acked && !x.Unacknowledged() {
		return false
	}
	return x.store.o.Now().Sub(x.derived.at).Abs() >= max(documentInterval, x.derived.rest)
}

// WriteDerived brings what is derived up to the state: the checkpoint files
// that are due, their index, and the PRD document. Without force, it writes the
// document only. All that was added must be durable.
// What fails is a *DerivedError; WriteDerived may be called again then.
func (x *Session) WriteDerived(ctx context.Context, force bool) error {
	if x.live == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("write what is derived: %w", err)
	}
	if err := x.owns(); err != nil {
		return err
	}
	if x.Unacknowledged() {
		return fmt.Errorf("write what is derived: %w", errNotDurable)
	}
	if !force {
		return x.writeDocument()
	}
	lost, due := x.writeLost(), x.writeDue()
	if err := cmp.Or(lost, due); err != nil {
		_ = x.writeEncoded() // what can be written is
		return err
	}
	if err := x.writeHeads(); err != nil {
		return err
	}
	return x.removeUnkept()
}

// writeDue encodes the checkpoint files that were put off, folding the base forward
// on the way, and leaves the last of them to be written with the heads. It returns the
// first error, and can be repeated after one: the base never passes a commit whose
// files are not encoded.
func (x *Session) writeDue() error {
	d := &x.derived
	var failed error
	for len(d.since) > 0 {
		if d.size >= encodedMost {
			failed = cmp.Or(failed, x.writeEncoded())
		}
		c := d.since[0]
		if err := d.reach(c); err != nil {
			return err
		}
		if err := x.encodeCheckpoints(c); err != nil {
			return err
		}
		d.pass()
	}
	d.since = nil
	return failed
}

// encodeCheckpoints encodes the files of a commit's checkpoints; the base stands
// there.
func (x *Session) encodeCheckpoints(c Commit) error {
	var files []newCheckpoint
	var state []byte
	for _, e := range c.Events {
		created, ok := e.(CheckpointCreated)
		if !ok || !x.derived.due[created.ID] {
			continue
		}
		if state == nil {
			var err error
			if state, err = encodeState(x.derived.base); err != nil {
				return err
			}
		}
		ref := x.derived.base.indexed().checkpoints[created.ID]
		if ref == nil { // dropped by the same commit
			delete(x.derived.due, created.ID)
			continue
		}
		json, err := encodeCheckpoint(newCheckpointFile(x.derived.base, ref, x.live.files.files[ref.ID]), state)
		if err != nil {
			return err
		}
		files = append(files, newCheckpoint{ref.ID, json})
	}
	d := &x.derived
	for _, f := range files {
		d.encoded, d.size = append(d.encoded, f), d.size+f.size()
	}
	return nil
}

// writeEncoded writes what is encoded.
func (x *Session) writeEncoded() error {
	files := x.derived.toWrite()
	if err := x.checkpoints().put(files...); err != nil {
		x.writeApart()
		return derivedError(err)
	}
	x.wroteEncoded()
	return nil
}

// writeApart writes one by one what could not be written together, so that one file
// does not keep the others from being written. Of what can't be, no more is kept in
// memory than which files it names.
func (x *Session) writeApart() {
	d := &x.derived
	for _, c := range d.toWrite() {
		delete(d.due, c.id)
		if x.owns() != nil || x.checkpoints().put(c) != nil {
			d.lost[c.id], d.tried[c.id] = true, true
			continue
		}
		x.live.files.forget(c.id)
	}
	d.encoded, d.size = nil, 0
}

// toWrite is what is encoded, but what is not due any more.
func (d *derived) toWrite() []newCheckpoint {
	return slices.DeleteFunc(slices.Clone(d.encoded), func(c newCheckpoint) bool { return !d.due[c.id] })
}

// wroteEncoded notes that what is encoded has been written.
func (x *Session) wroteEncoded() {
	d := &x.derived
	for _, c := range d.encoded {
		delete(d.due, c.id)
		x.live.files.forget(c.id)
	}
	d.encoded, d.size = nil, 0
}

// putCheckpoint writes the file of a checkpoint.
func (x *Session) putCheckpoint(f CheckpointFile) error {
	state, err := encodeState(f.State)
	if err != nil {
		return err
	}
	json, err := encodeCheckpoint(f, state)
	if err != nil {
		return err
	}
	if err := x.checkpoints().put(newCheckpoint{f.ID, json}); err != nil {
		return derivedError(err)
	}
	return nil
}

// checkpoints returns the files of the session's checkpoints.
func (x *Session) checkpoints() checkpointDir { return x.store.checkpointsIn(x.store.prdDir(x.prd)) }

// SkipDerived gives up the checkpoint files that are due, and returns the ids, sorted,
// of the checkpoints that are given up with them: all but those that may hold the only
// copy of what was overwritten, or that a person or a rollback needs, which the next
// owner writes. The states of all can still be read from the journal.
func (x *Session) SkipDerived() []string {
	d, s := &x.derived, x.live.state
	needed := s.irreplaceable()
	var ids []string
	for _, id := range slices.Concat(slices.Sorted(maps.Keys(d.due)), slices.Sorted(maps.Keys(d.lost))) {
		x.live.files.forget(id)
		if ref := s.indexed().checkpoints[id]; ref != nil && (needed[id] != "" || s.deletable(ref, true) != nil) {
			continue
		}
		ids = append(ids, id)
		if !d.due[id] {
			d.unkept = append(d.unkept, id)
		}
	}
	d.encoded, d.size = nil, 0
	clear(d.due)
	clear(d.lost)
	clear(d.tried)
	return ids
}

// Written reports whether a checkpoint is on record and its file is written.
func (x *Session) Written(id string) bool {
	d := &x.derived
	return x.live != nil && x.live.state.indexed().checkpoints[id] != nil && !d.due[id] && !d.lost[id]
}

// writeLost writes the files that an earlier owner did not come to write, or that could
// not be written before. It returns the first error.
func (x *Session) writeLost() error {
	d := &x.derived
	if len(d.lost) == 0 {
		return nil
	}
	var failed error
	found, err := x.store.rebuild(x.prd, maps.Clone(d.lost), func(f CheckpointFile) error {
		if files, ok := x.live.files.files[f.ID]; ok { // a journal that was compacted tells of fewer
			f.Files = files
		}
		err := x.putCheckpoint(f)
		if err == nil {
			d.found(f.ID)
			x.live.files.forget(f.ID)
		}
		failed = cmp.Or(failed, err)
		return nil
	})
	for id := range maps.Clone(d.lost) {
		switch {
		case err != nil || found[id]:
		case d.tried[id]:
			failed = cmp.Or(failed, error(&DerivedError{x.checkpoints().path(id), errGone}))
		default:
			d.found(id) // the journal that held it is gone; reading it says so
		}
	}
	return cmp.Or(err, failed, x.owns()) // which may have taken long
}

// writeHeads writes what tells of the session as a whole: the index of its
// checkpoints, the link to the newest one, and the document. What is encoded is
// written with it, since flushes that wait together cost little more than one.
func (x *Session) writeHeads() error {
	files, err := x.checkpoints().names(x.derived.toWrite()...)
	if err != nil {
		x.writeApart()
		return derivedError(err)
	}
	index, latest, err := x.index(files)
	if err != nil {
		x.writeApart()
		return err
	}
	if err := x.writeDocument(slices.Concat(files, index)...); err != nil {
		if len(index) > 0 {
			x.derived.latest = "" // it may have its name, and what it names may go
		}
		x.writeApart()
		return err
	}
	x.wroteEncoded()
	if len(index) > 0 {
		x.derived.index, x.derived.latest = x.acked, latest
	}
	return nil
}

// index returns the index of the checkpoints, and the link to the newest one, where
// they are not on disk as they should be, and what the link names then, which may be
// one of the files that are written before.
func (x *Session) index(before []store.Name) (names []store.Name, latest string, err error) {
	d := &x.derived
	if d.index == x.acked || len(x.live.state.Checkpoints) == 0 && d.index == 0 {
		return nil, "", nil
	}
	m := newManifest(x.live.state)
	data, err := m.encode()
	if err != nil {
		return nil, "", err
	}
	path := x.store.manifestPath(x.prd)
	if latest, err = x.latestTarget(m.Latest, before); err != nil {
		return nil, "", &DerivedError{path, err}
	}
	names = []store.Name{{Path: path, Data: [][]byte{data}}}
	if latest != d.latest {
		names = append(names, store.Name{Path: filepath.Join(x.store.prdDir(x.prd), latestName), Target: latest})
	}
	return names, latest, nil
}

// latestTarget is what the link names that is for people, "" for no link.
func (x *Session) latestTarget(id string, before []store.Name) (string, error) {
	// Links need a privilege on Windows, and `latest` is a convenience.
	if id == "" || runtime.GOOS == "windows" {
		return x.derived.latest, nil
	}
	for _, n := range before {
		name := filepath.Base(n.Path)
		if of, _ := checkpointOf(name); of == id {
			return filepath.Join(checkpointsDir, name), nil
		}
	}
	file, err := x.checkpoints().locate(id)
	return filepath.Join(checkpointsDir, filepath.Base(file)), err
}

// writeDocument writes the document, and what is to have its name before that does.
func (x *Session) writeDocument(before ...store.Name) error {
	d := &x.derived
	names, size, all, began := before, 0, 0, x.store.o.Now()
	if d.written != x.acked {
		data, err := NewDocument(x.live.state).Encode()
		if err != nil {
			return err
		}
		size = len(data)
		names = append(names, store.Name{Path: x.store.documentPath(x.prd), Data: [][]byte{data}})
	}
	if len(names) == 0 {
		return nil
	}
	for _, n := range names {
		all += n.Size()
	}
	if err := store.Write(x.store.fs, names...); err != nil {
		d.at = x.store.o.Now() // not again at once
		return derivedError(err)
	}
	if size == 0 {
		return nil // the document is as it was
	}
	d.written, d.at = x.acked, x.store.o.Now()
	took := time.Duration(float64(d.at.Sub(began)) * float64(size) / float64(all)) // its part, by bytes
	d.rest = max(documentShare*took, time.Duration(size)*time.Second/documentRate)
	return nil
}

// derivedError is the *DerivedError of what store.Write could not write.
func derivedError(err error) error {
	failed := &DerivedError{Err: err}
	if of := (*store.WriteError)(nil); errors.As(err, &of) {
		failed.Path = of.Path
	}
	return failed
}

// removeUnkept removes the files of checkpoints that are no longer kept. It
// comes last, when nothing on disk names them any more.
func (x *Session) removeUnkept() error {
	d := &x.derived
	remove, err := x.checkpoints().remover(len(d.unkept))
	if err != nil {
		return &DerivedError{x.checkpoints().dir, err}
	}
	for len(d.unkept) > 0 {
		id := d.unkept[len(d.unkept)-1]
		if err := remove(id); err != nil {
			return &DerivedError{x.checkpoints().path(id), err}
		}
		d.unkept = d.unkept[:len(d.unkept)-1]
	}
	return nil
}
