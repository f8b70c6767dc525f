package checkpoint

import (
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/disk"
)

// place is a directory that holds a whole session.
type place struct {
	id   string // the path relative to the state directory, slash-separated
	dir  string
	prd  string    // "" if the directory's name does not contain it
	kind Place     // "" for a directory that a crash left on the way to another place
	at   time.Time // when the session was archived, if the name contains that
}

// Place says in which part of the state directory a session is.
type Place string

// The places of a session.
const (
	PlaceCurrent Place = "current"
	PlaceHistory Place = "history" // complete, and replaced by a newer session
	PlaceFailed  Place = "failed"  // archived without being complete
)

// places returns the directories of all sessions: current ones, those in a history, those
// under failed/, and those that a crash left on the way there. It leaves out directories
// that are being deleted.
func (s *Store) places() ([]place, error) { return s.placesOf("") }

// placesOf returns the places of one PRD, or of every PRD if prd is "".
func (s *Store) placesOf(prd string) ([]place, error) {
	dirs, err := s.layout.Directories(s.layout.Path)
	if err != nil {
		return nil, err
	}
	var all []place
	for _, name := range dirs {
		switch name {
		case disk.LocksDir, disk.ObjectsDir, disk.SafetyDir, disk.TrashDir, disk.UntrustedDir:
			continue
		case disk.FailedDir:
			failed, err := s.failedPlaces()
			if err != nil {
				return nil, err
			}
			all = append(all, slices.DeleteFunc(failed, func(p place) bool { return prd != "" && p.prd != prd })...)
			continue
		}
		if strings.HasSuffix(name, disk.MovingExt) { // a copy of a place that is listed
			continue
		}
		base := name
		for _, ext := range []string{disk.ArchivingExt, disk.DeletingExt, disk.ImportingExt} {
			base = strings.TrimSuffix(base, ext)
		}
		p := place{id: name, dir: filepath.Join(s.layout.Path, name), prd: decodeName(base)}
		if prd != "" && p.prd != prd {
			continue
		}
		if base == name {
			p.kind = PlaceCurrent
		}
		if !strings.HasSuffix(name, disk.DeletingExt) {
			all = append(all, p)
		}
		history, err := s.layout.Directories(filepath.Join(p.dir, disk.HistoryDir))
		if err != nil {
			return nil, err
		}
		for _, session := range history {
			at := place{id: name + "/" + disk.HistoryDir + "/" + session, dir: filepath.Join(p.dir, disk.HistoryDir, session), prd: p.prd, kind: PlaceHistory}
			all = append(all, at)
		}
	}
	return all, nil
}

func (s *Store) failedPlaces() ([]place, error) {
	dir := filepath.Join(s.layout.Path, disk.FailedDir)
	names, err := s.layout.Directories(dir)
	if err != nil {
		return nil, err
	}
	var all []place
	for _, name := range names {
		p := place{id: disk.FailedDir + "/" + name, dir: filepath.Join(dir, name), kind: PlaceFailed}
		p.prd, p.at = cutStamp(name)
		all = append(all, p)
	}
	return all, nil
}

// Known returns the sorted IDs of the PRDs that have a session, current or archived.
func (s *Store) Known() ([]string, error) {
	all, err := s.places()
	if err != nil {
		return nil, err
	}
	var prds []string
	for _, p := range all {
		if !s.isID(p.prd) {
			continue
		}
		there, err := s.layout.Exists(filepath.Join(p.dir, disk.JournalName))
		if err != nil {
			return nil, fmt.Errorf("list the sessions of %s: %w", p.prd, err)
		}
		if there {
			prds = append(prds, p.prd)
		}
	}
	slices.Sort(prds)
	return slices.Compact(prds), nil
}

// stampPattern matches the name of a directory under failed/: the encoded PRD and a time.
const stampPattern = `^(.+)-(\d{8}T\d{6}Z)(?:-\d+)?$`

// cutStamp splits the name of a directory under failed/ into the PRD and the time.
func cutStamp(name string) (prd string, at time.Time) {
	parts := regexp.MustCompile(stampPattern).FindStringSubmatch(name)
	if parts == nil {
		return "", time.Time{}
	}
	at, err := time.Parse(disk.StampFormat, parts[2])
	if err != nil {
		return "", time.Time{}
	}
	return decodeName(parts[1]), at
}

// decodeName is the inverse of disk.EncodeName.
func decodeName(name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}
