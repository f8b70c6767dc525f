package validate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/reader"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// checkDerived returns the damage of a session's document and manifest. It is no damage if
// one is missing or older than the journal: Runner writes each some time after the commit
// from which it is made.
func checkDerived(s *checkpoint.Store, at reader.StoredSession) []*state.DamagedError {
	path := s.Layout().DocumentPath(at.PRD)
	if at.Place != disk.PlaceCurrent {
		path = filepath.Join(at.Dir, filepath.Base(path))
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
	note(path, documentWhole(s.FS(), path))
	_, err := s.Layout().ReadManifest(at.Dir)
	note(filepath.Join(at.Dir, disk.ManifestName), err)
	return found
}

// documentWhole checks every byte of a document. The document's checksum covers its
// content and not its encoding, so documentWhole also encodes the document again. A
// document that a person wrote has no checksum: the session has just begun with it, and
// Runner has not written its own yet.
func documentWhole(fsys store.FS, path string) error {
	data, err := store.ReadFile(fsys, path)
	if err != nil {
		return err
	}
	d, err := document.Decode(data)
	switch {
	case err != nil:
		return err
	case d.Runner == nil && !bytes.Contains(data, []byte(`"checksum"`)):
		return d.FirstMistake()
	case !d.Intact():
		return errors.New("its checksum is wrong")
	case d.Runner.FormatVersion != state.FormatVersion: // an older version may have encoded it differently
		return nil
	}
	again, err := d.Encode()
	if err == nil && !bytes.Equal(again, data) {
		err = errors.New("it says the same in other bytes")
	}
	return err
}
