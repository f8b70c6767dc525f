package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/store"
)

// SessionDir is a directory that holds a whole session.
type SessionDir struct {
	ID         string // the path relative to the state directory, slash-separated
	Dir        string
	PRD        string    // "" if the directory's name does not contain it
	Place      Place     // "" for a directory that a crash left on the way to another place
	ArchivedAt time.Time // zero if the name does not contain it
}

// Place says in which part of the state directory a session is.
type Place string

// The places of a session.
const (
	PlaceCurrent Place = "current"
	PlaceHistory Place = "history" // complete, and replaced by a newer session
	PlaceFailed  Place = "failed"  // archived without being complete
)

// SessionDirs returns the directories of all sessions of a PRD, or of every PRD if prd is
// "": current ones, those in a history, those under failed/, and those that a crash left
// on the way there. It leaves out directories that are being deleted.
func (l *Layout) SessionDirs(prd string) ([]SessionDir, error) {
	dirs, err := l.topDirectories(prd)
	if err != nil {
		return nil, err
	}
	var all []SessionDir
	for _, name := range dirs {
		switch name {
		case LocksDir, ObjectsDir, SafetyDir, TrashDir, UntrustedDir:
			continue
		case FailedDir:
			failed, err := l.failedSessions()
			if err != nil {
				return nil, err
			}
			all = append(all, slices.DeleteFunc(failed, func(p SessionDir) bool { return prd != "" && p.PRD != prd })...)
			continue
		}
		if strings.HasSuffix(name, MovingExt) { // a copy of a place that is listed
			continue
		}
		base := name
		for _, ext := range onTheWay() {
			base = strings.TrimSuffix(base, ext)
		}
		p := SessionDir{ID: name, Dir: filepath.Join(l.Path, name), PRD: prd}
		if prd == "" {
			p.PRD = decodeName(base)
		}
		if base == name {
			p.Place = PlaceCurrent
		}
		if !strings.HasSuffix(name, DeletingExt) {
			all = append(all, p)
		}
		history, err := l.Directories(filepath.Join(p.Dir, HistoryDir))
		if err != nil {
			return nil, err
		}
		for _, session := range history {
			at := SessionDir{ID: name + "/" + HistoryDir + "/" + session, Dir: filepath.Join(p.Dir, HistoryDir, session), PRD: p.PRD, Place: PlaceHistory}
			all = append(all, at)
		}
	}
	return all, nil
}

// onTheWay returns the extensions of the directory of a session that is on its way to
// another place.
func onTheWay() []string { return []string{ArchivingExt, DeletingExt, ImportingExt} }

// topDirectories returns the names of the directories in the state directory that can hold
// sessions of a PRD, or of every PRD if prd is "". It does not list the state directory for
// one PRD: that can hold thousands.
func (l *Layout) topDirectories(prd string) ([]string, error) {
	if prd == "" {
		return l.Directories(l.Path)
	}
	name := EncodeName(prd)
	names := []string{name}
	for _, ext := range onTheWay() {
		names = append(names, name+ext)
	}
	var dirs []string
	for _, name := range append(names, FailedDir) {
		info, err := l.FS.Lstat(filepath.Join(l.Path, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("look for the sessions of %s: %w", prd, err)
		}
		if err == nil && info.IsDir() {
			dirs = append(dirs, name)
		}
	}
	return dirs, nil
}

func (l *Layout) failedSessions() ([]SessionDir, error) {
	dir := filepath.Join(l.Path, FailedDir)
	names, err := l.Directories(dir)
	if err != nil {
		return nil, err
	}
	var all []SessionDir
	for _, name := range names {
		p := SessionDir{ID: FailedDir + "/" + name, Dir: filepath.Join(dir, name), Place: PlaceFailed}
		p.PRD, p.ArchivedAt = cutStamp(name)
		all = append(all, p)
	}
	return all, nil
}

// stampPattern matches the name of a directory under failed/: the encoded PRD and a time.
const stampPattern = `^(.+)-(\d{8}T\d{6}Z)(?:-\d+)?$`

// cutStamp splits the name of a directory under failed/ into the PRD and the time.
func cutStamp(name string) (prd string, at time.Time) {
	parts := regexp.MustCompile(stampPattern).FindStringSubmatch(name)
	if parts == nil {
		return "", time.Time{}
	}
	at, err := time.Parse(StampFormat, parts[2])
	if err != nil {
		return "", time.Time{}
	}
	return decodeName(parts[1]), at
}

// decodeName is the inverse of EncodeName.
func decodeName(name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}

// MakeSessionDirs creates the directories of a PRD's current session.
func (l *Layout) MakeSessionDirs(prd string, checkpoints bool) error {
	var dirs []string
	for _, name := range []string{"", LogsDir, RunDir, InboxDir} {
		dirs = append(dirs, filepath.Join(l.PRDDir(prd), name))
	}
	if checkpoints {
		dirs = append(dirs, filepath.Join(l.PRDDir(prd), CheckpointsDir))
	}
	return store.MkdirAll(l.FS, dirs...)
}
