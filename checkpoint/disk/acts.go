package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// An act is work that must happen only once and that has happened, or may have. The acts
// of a removed session are kept in a file of the PRD. So is the knowledge that archived and
// removed sessions captured, which happens only once, too.

// ActsFile is the content of the file that remembers what has happened only once.
type ActsFile struct {
	FormatVersion string       `json:"format_version"`
	PRD           string       `json:"prd"`
	Acts          []state.Act  `json:"acts"`
	Unread        []state.Text `json:"unread,omitempty"` // former directories of sessions that could not be read

	// Captured is the knowledge that sessions captured which are no longer current.
	Captured map[string]ledger.Knowledge `json:"captured,omitempty"`
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
	f.Acts, f.Unread = state.MergeActs(f.Acts, acts...), append(f.Unread, unread...)
	return l.writeActs(prd, f)
}

// AddCaptures adds the captured knowledge of ledgers to the acts file. If they have none, it
// writes nothing.
func (l *Layout) AddCaptures(prd string, of ledger.Ledgers) error {
	if len(of.KnowledgeWith(ledger.Captured)) == 0 {
		return nil
	}
	f, err := l.ReadActs(prd)
	if err != nil {
		return err
	}
	all := ledger.Ledgers{Knowledge: f.Captured}
	all.KeepCaptures(of)
	f.Captured = all.Knowledge
	return l.writeActs(prd, f)
}

func (l *Layout) writeActs(prd string, f *ActsFile) error {
	f.FormatVersion, f.PRD = state.FormatVersion, prd
	if f.Acts == nil {
		f.Acts = []state.Act{}
	}
	data, err := state.EncodeJSON(f)
	if err != nil {
		return fmt.Errorf("encode what has happened only once: %w", err)
	}
	return store.WriteFile(l.FS, l.ActsPath(prd), append(data, '\n'))
}
