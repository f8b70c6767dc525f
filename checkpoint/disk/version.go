package disk

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

var errNoObject = errors.New("it is no JSON object")

// CheckVersion reads only the format version of a file. An unknown version is a
// *VersionError; other errors say that the file has no version.
func CheckVersion(path string, data []byte) error {
	var version string
	if err := ReadFields(data, map[string]any{"format_version": &version}); err != nil {
		return err
	}
	switch {
	case state.Readable(version):
		return nil
	case version == "":
		return errors.New("it names no format version")
	}
	return &state.VersionError{Path: path, Version: "format version " + version}
}

// ReadFields reads some fields of a JSON object, and stops after the last one. In all
// files long fields come last.
func ReadFields(object []byte, into map[string]any) error {
	d := json.NewDecoder(bytes.NewReader(object))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return cmp.Or(err, errNoObject)
	}
	for read := 0; read < len(into) && d.More(); {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value any = new(json.RawMessage)
		if field, ok := into[name.(string)]; ok {
			value = field
			read++
		}
		if err := d.Decode(value); err != nil {
			return err
		}
	}
	return nil
}

// CheckSealed checks the checksum and the version of a file. A wrong checksum counts
// first: a flipped bit can turn the version into a newer one.
func CheckSealed(path string, data []byte) error {
	err := CheckVersion(path, data)
	var newer *state.VersionError
	if err != nil && (!errors.As(err, &newer) || state.ChecksumOf(data) == "") {
		return err
	}
	if _, broken := state.Unseal(data); broken != nil {
		return broken
	}
	return err
}

// RefuseNewer returns a *VersionError if a newer version wrote a file of a PRD that an
// owner would not read otherwise, and so could overwrite or remove. Unreadable files are
// left to the code that needs them.
func (l *Layout) RefuseNewer(prd string) error {
	path := filepath.Join(l.PRDDir(prd), OriginName)
	if data, err := store.ReadFile(l.FS, path); err == nil {
		var newer *state.VersionError
		if err := CheckVersion(path, data); errors.As(err, &newer) {
			return err
		}
	}
	return l.CheckpointsIn(l.PRDDir(prd)).refuseNewer()
}

// refuseNewer returns a *VersionError if a newer version wrote one of the checkpoint
// files.
func (d CheckpointDir) refuseNewer() error {
	names, err := d.List()
	if err != nil {
		return fmt.Errorf("look for checkpoints: %w", err)
	}
	if len(names) == 0 {
		return nil
	}
	dir, err := store.OpenDir(d.FS, d.Path)
	if err != nil {
		return fmt.Errorf("look for checkpoints: %w", err)
	}
	defer func() { _ = dir.Close() }() // only read from
	known := versions{dir: dir}
	for _, name := range names {
		if _, ok := CheckpointOf(name); !ok || known.begins(name) {
			continue
		}
		stored, err := d.readNamed(name)
		if err != nil || stored.Bad != nil {
			continue
		}
		var newer *state.VersionError
		if err := CheckSealed(stored.Path, stored.JSON); errors.As(err, &newer) {
			return err
		}
	}
	return nil
}

// versions checks the format version in the first bytes of many files, most of which begin
// alike.
type versions struct {
	dir  *store.Dir
	last [len(`{"format_version":"` + state.FormatVersion + `",`)]byte // first bytes of the last file whose version is known; no JSON begins with zeros
}

// begins reports whether an uncompressed file begins with a known version.
func (v *versions) begins(name string) bool {
	if strings.HasSuffix(name, ZstExt) {
		return false
	}
	begin := v.last
	if v.dir.Begin(name, begin[:]) != nil {
		return false
	}
	if begin == v.last {
		return true
	}
	object := append(begin[:len(begin)-1:len(begin)-1], '}')
	if CheckVersion("", object) != nil {
		return false
	}
	v.last = begin
	return true
}
