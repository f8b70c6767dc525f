package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// checkDerived says what is wrong with the document and the manifest of a
// session. That one is missing or older than the journal is nothing wrong: each
// is written some time after the commit that it is made from.
func (s *Store) checkDerived(at StoredSession) []*state.DamagedError {
	document := s.layout.DocumentPath(at.PRD)
	if at.Place != PlaceCurrent {
		document = filepath.Join(at.Dir, filepath.Base(document))
	}
	var found []*state.DamagedError
	note := func(path string, err error) {
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return
		}
		found = append(found, &state.DamagedError{
			Path: path, Detail: fmt.Sprintf("it is not what was written: %v", err),
			Remedy: "the next command that changes the session writes it anew, such as runner checkpoint rebuild " + at.PRD,
		})
	}
	note(document, s.documentWhole(document))
	_, err := s.layout.ReadManifest(at.Dir)
	note(filepath.Join(at.Dir, disk.ManifestName), err)
	return found
}

// documentWhole looks at every byte: the checksum of a document is that of what
// it says, however it is written. One that was written by hand has none; the
// session began with it a moment ago, and its own is not written yet.
func (s *Store) documentWhole(path string) error {
	data, err := store.ReadFile(s.fs, path)
	if err != nil {
		return err
	}
	d, err := state.DecodeDocument(data)
	switch {
	case err != nil:
		return err
	case d.Runner == nil && !bytes.Contains(data, []byte(`"checksum"`)):
		return d.FirstMistake()
	case !d.Intact():
		return errors.New("its checksum is wrong")
	case d.Runner.FormatVersion != state.FormatVersion: // which may have been written otherwise
		return nil
	}
	again, err := d.Encode()
	if err == nil && !bytes.Equal(again, data) {
		err = errors.New("it says the same in other bytes")
	}
	return err
}
