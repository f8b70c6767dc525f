package checkpoint

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// Between two boundaries that nothing waits for, the document is not written again for
// the longest of these durations, so that neither the time nor the bytes that it takes
// per boundary grow with the pipeline: documentInterval, documentShare times as long as
// the last write took, and its size divided by documentRate.
const (
	documentInterval = 100 * time.Millisecond
	documentShare    = 100       // times the duration of the last write
	documentRate     = 160 << 10 // bytes a second
)

// writeFilesAndIndex writes the files that describe the session as a whole: the index of
// its checkpoints, the link to the newest one, and the document. It writes the encoded
// files with them, since several flushes that wait together cost little more than one.
func (d *derived) writeFilesAndIndex(s *state.State) error {
	files, err := d.session.Files().Prepare(d.encoded...)
	if err != nil {
		d.writeApart()
		return derivedError(err)
	}
	index, latest, err := d.buildIndex(s, files)
	if err != nil {
		d.writeApart()
		return err
	}
	if err := d.writeWithDocument(s, slices.Concat(files, index)...); err != nil {
		if len(index) > 0 {
			d.latest = "" // the link may be in place, and the file that it names may be removed
		}
		d.writeApart()
		return err
	}
	d.wroteEncoded()
	if len(index) == 0 {
		return nil
	}
	if err := d.unlinkLatest(latest); err != nil {
		return err
	}
	d.index, d.latest = s.Seq, latest
	return nil
}

// unlinkLatest removes the link to the newest checkpoint's file if latest is "".
func (d *derived) unlinkLatest(latest string) error {
	if latest != "" {
		return nil
	}
	path := filepath.Join(d.session.Dir, disk.LatestName)
	if err := d.session.Layout.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &DerivedError{path, err}
	}
	return nil
}

// buildIndex returns the index of the checkpoints and the link to the newest one, unless
// they are up to date on disk, and the file that the link then names. That can be one of
// the files in before, which are written first.
func (d *derived) buildIndex(s *state.State, before []store.Entry) (names []store.Entry, latest string, err error) {
	if d.index == s.Seq {
		return nil, "", nil
	}
	if len(s.Checkpoints) == 0 && d.index == 0 { // an earlier owner may have written an index
		if there, err := store.Exists(d.session.Layout.FS, d.session.Layout.ManifestPath(d.session.PRD)); err != nil || !there {
			return nil, "", err
		}
	}
	m := disk.NewManifest(s)
	data, err := m.Encode()
	if err != nil {
		return nil, "", err
	}
	path := d.session.Layout.ManifestPath(d.session.PRD)
	if latest, err = d.latestTarget(s, before); err != nil {
		return nil, "", &DerivedError{path, err}
	}
	names = []store.Entry{{Path: path, Data: [][]byte{data}}}
	if latest != d.latest && latest != "" {
		names = append(names, store.Entry{Path: filepath.Join(d.session.Dir, disk.LatestName), Target: latest})
	}
	return names, latest, nil
}

// latestTarget returns the target of the link that shows people the newest checkpoint: the
// file of the newest checkpoint that has one on disk or in before. It is "" if there is no
// such file, or the system makes no links.
func (d *derived) latestTarget(s *state.State, before []store.Entry) (string, error) {
	if runtime.GOOS == "windows" { // where links need a privilege
		return "", nil
	}
	for _, ref := range slices.Backward(s.Checkpoints) {
		for _, n := range before {
			name := filepath.Base(n.Path)
			if of, _ := disk.CheckpointOf(name); of == ref.ID {
				return filepath.Join(disk.CheckpointsDir, name), nil
			}
		}
		files, err := d.session.Files().Paths(ref.ID)
		if err != nil {
			return "", err
		}
		if len(files) > 0 {
			return filepath.Join(disk.CheckpointsDir, filepath.Base(files[0])), nil
		}
	}
	return "", nil
}

// writeDocument writes the document, unless it is up to date.
func (d *derived) writeDocument(s *state.State) error { return d.writeWithDocument(s) }

// writeWithDocument writes the given files and then the document, unless that is up to
// date. Their names are in place before the document's.
func (d *derived) writeWithDocument(s *state.State, before ...store.Entry) error {
	names, size, all, began := before, 0, 0, d.now()
	if d.written != s.Seq {
		data, err := document.New(s).Encode()
		if err != nil {
			return err
		}
		size = len(data)
		names = append(names, store.Entry{Path: d.session.Layout.DocumentPath(d.session.PRD), Data: [][]byte{data}})
	}
	if len(names) == 0 {
		return nil
	}
	for _, n := range names {
		all += n.Size()
	}
	if err := store.Write(d.session.Layout.FS, names...); err != nil {
		d.at = d.now() // do not try again at once
		return derivedError(err)
	}
	if size == 0 {
		return nil // the document was up to date
	}
	d.written, d.at = s.Seq, d.now()
	took := time.Duration(float64(d.at.Sub(began)) * float64(size) / float64(all)) // the document's share of the time, by bytes
	d.rest = max(documentShare*took, time.Duration(size)*time.Second/documentRate)
	return nil
}

// derivedError returns the *DerivedError for an error of store.Write.
func derivedError(err error) error {
	failed := &DerivedError{Err: err}
	if of := (*store.WriteError)(nil); errors.As(err, &of) {
		failed.Path, failed.Err = of.Path, of.Err
	}
	return failed
}
