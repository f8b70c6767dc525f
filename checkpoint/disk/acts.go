package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// An act is work that must happen only once and that has happened, or may have. The acts
// of a removed session are kept in a file of the PRD.

// ActsFile is the content of the file that remembers the acts of removed sessions.
type ActsFile struct {
	FormatVersion string       `json:"format_version"`
	PRD           string       `json:"prd"`
	Acts          []state.Act  `json:"acts"`
	Unread        []state.Text `json:"unread,omitempty"` // former directories of sessions that could not be read
}

// UnreadNames returns the former directories of removed sessions that could not be read,
// worded for people.
func (f *ActsFile) UnreadNames() []string {
	names := make([]string, len(f.Unread))
	for i, name := range f.Unread {
		names[i] = string(name) + ", since removed"
	}
	return names
}

// ReadActs reads the acts of removed sessions.
func (l *Layout) ReadActs(prd string) (*ActsFile, error) {
	path := l.ActsPath(prd)
	data, err := store.ReadFile(l.FS, path)
	if errors.Is(err, fs.ErrNotExist) {
		return &ActsFile{}, nil
	}
	if err != nil {
		return &ActsFile{}, err
	}
	var newer *state.VersionError
	if err = CheckVersion(path, data); errors.As(err, &newer) {
		return &ActsFile{}, newer
	}
	var f ActsFile
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		return &ActsFile{}, &state.DamagedError{Path: path, Detail: err.Error(), Remedy: "without that file, what removed sessions did only once is forgotten"}
	}
	return &f, nil
}

// AddActs adds to the acts file of removed sessions.
func (l *Layout) AddActs(prd string, acts []state.Act, unread []state.Text) error {
	f, err := l.ReadActs(prd)
	if err != nil {
		return err
	}
	unread = slices.DeleteFunc(unread, func(name state.Text) bool { return slices.Contains(f.Unread, name) })
	if acts = state.UnknownActs(acts, f.Acts); len(acts)+len(unread) == 0 {
		return nil
	}
	f = &ActsFile{FormatVersion: state.FormatVersion, PRD: prd, Acts: state.MergeActs(f.Acts, acts...), Unread: append(f.Unread, unread...)}
	if f.Acts == nil {
		f.Acts = []state.Act{}
	}
	data, err := state.EncodeJSON(f)
	if err != nil {
		return fmt.Errorf("encode what has happened only once: %w", err)
	}
	return store.WriteFile(l.FS, l.ActsPath(prd), append(data, '\n'))
}
