package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace/tree"
)

// The names in a state directory.
const (
	locksDir       = "locks"
	failedDir      = "failed"
	historyDir     = "history"
	checkpointsDir = "checkpoints"
	logsDir        = "logs"
	runDir         = "run"
	inboxDir       = "inbox"
	journalName    = "journal.jsonl"
	nextName       = "next.jsonl"
	manifestName   = "manifest.json"
	latestName     = "latest"
	archivingExt   = ".archiving"
	importingExt   = ".importing"
	deletingExt    = ".deleting"
	trashDir       = "trash"
	safetyDir      = "safety"
	untrustedDir   = "untrusted"
	ignoreName     = ".gitignore"
)

func (s *Store) prdDir(prd string) string { return filepath.Join(s.dir, encodeName(prd)) }

func (s *Store) journalPath(prd string) string { return filepath.Join(s.prdDir(prd), journalName) }

func (s *Store) documentPath(prd string) string {
	return filepath.Join(s.dir, encodeName(prd)+".json")
}

func (s *Store) manifestPath(prd string) string { return filepath.Join(s.prdDir(prd), manifestName) }

func (s *Store) lockPath(prd string) string {
	return filepath.Join(s.dir, locksDir, encodeName(prd)+".lock")
}

func (s *Store) storeLockPath() string {
	return filepath.Join(s.dir, filepath.FromSlash(tree.StateLock))
}

func (s *Store) inboxPath(prd string) string { return filepath.Join(s.prdDir(prd), inboxDir) }

// LogsDir returns the directory of the logs of a PRD's session.
func (s *Store) LogsDir(prd string) string { return filepath.Join(s.prdDir(prd), logsDir) }

// LogPath returns the path of the log of an attempt at a workstream, a gate or
// a hook.
func (s *Store) LogPath(prd, name string, attempt int) string {
	return filepath.Join(s.LogsDir(prd), fmt.Sprintf("%s.%d.log", encodeName(name), attempt))
}

// HistoryLogPath is LogPath for a complete session in the history of a PRD.
func (s *Store) HistoryLogPath(prd, session, name string, attempt int) string {
	log := filepath.Base(s.LogPath(prd, name, attempt))
	return filepath.Join(s.historyPath(prd), encodeName(session), logsDir, log)
}

// OutputPath returns a path for what an attempt reports. Its directory exists
// while a Session is open, and is emptied of what a killed runner left.
func (s *Store) OutputPath(prd, name string, attempt int) string {
	return filepath.Join(s.prdDir(prd), runDir, fmt.Sprintf("%s.%d", encodeName(name), attempt))
}

// makeRoot creates the state directory, the mark that it is ours first.
func (s *Store) makeRoot() error {
	locks := filepath.Join(s.dir, locksDir)
	if err := store.MkdirAll(s.fs, locks); err != nil {
		return err
	}
	for _, dir := range []string{s.dir, locks} {
		if err := s.checkDir(dir); err != nil {
			return err
		}
	}
	ignore := filepath.Join(s.dir, ignoreName)
	if there, err := s.exists(ignore); err != nil || there {
		return err
	}
	return store.WriteFile(s.fs, ignore, []byte("*\n"))
}

// missingRoot returns what makeRoot, and the lock on all of it, would have to
// make, each directory before what is in it.
func (s *Store) missingRoot() ([]string, error) {
	paths := []string{s.dir, filepath.Join(s.dir, locksDir), filepath.Join(s.dir, ignoreName), s.storeLockPath()}
	for dir := filepath.Dir(s.dir); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		paths = slices.Insert(paths, 0, dir)
	}
	var missing []string
	for _, path := range paths {
		there, err := s.exists(path)
		if err != nil {
			return nil, fmt.Errorf("look for the state directory: %w", err)
		}
		if !there {
			missing = append(missing, path)
		}
	}
	return missing, nil
}

// unmakeRoot removes what missingRoot missed, and was made since, unless somebody
// else uses it by now. Who is about to is refused the lock.
func (s *Store) unmakeRoot(made []string) error {
	only, err := s.fs.TryLock(s.storeLockPath(), false)
	switch {
	case errors.Is(err, store.ErrLocked):
		return nil
	case errors.Is(err, fs.ErrNotExist): // it was not made whole
	case err != nil:
		return fmt.Errorf("remove the state directory that was made: %w", err)
	}
	err = nil
	for _, path := range slices.Backward(made) {
		failed := s.fs.Remove(path)
		if failed == nil || errors.Is(failed, fs.ErrNotExist) {
			continue
		}
		if len(path) >= len(s.dir) { // something came into it
			err = s.makeRoot()
		}
		break
	}
	if only != nil {
		err = errors.Join(err, only.Unlock())
	}
	return err
}

// checkLayout refuses a state directory in which something that is to be a
// directory is none of its own: what would be listed, written or removed behind
// a link is somebody else's. It looks at what all PRDs share and, unless prd is
// "", at what the owner of that one works on. It makes none; the caller holds a
// lock.
func (s *Store) checkLayout(prd string) error {
	var dirs []string
	for _, name := range []string{objectsDir, failedDir, trashDir, safetyDir, untrustedDir} {
		dirs = append(dirs, filepath.Join(s.dir, name))
	}
	if prd != "" {
		for _, dir := range []string{s.prdDir(prd), s.archivingPath(prd), s.deletingPath(prd), s.importingPath(prd)} {
			dirs = append(dirs, dir)
			for _, name := range []string{checkpointsDir, historyDir, logsDir, runDir, inboxDir} {
				dirs = append(dirs, filepath.Join(dir, name))
			}
		}
	}
	for _, dir := range dirs {
		if err := s.checkDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// makePRDLayout creates what a session needs.
func (s *Store) makePRDLayout(prd string) error {
	var dirs []string
	for _, name := range []string{"", logsDir, runDir, inboxDir} {
		dirs = append(dirs, filepath.Join(s.prdDir(prd), name))
	}
	if s.o.Policy.Enabled {
		dirs = append(dirs, filepath.Join(s.prdDir(prd), checkpointsDir))
	}
	return store.MkdirAll(s.fs, dirs...)
}

// IDError says why a text can't be the id of a PRD.
type IDError struct {
	ID  string
	Why string
}

func (e *IDError) Error() string { return fmt.Sprintf("%q is not a PRD id: %s", e.ID, e.Why) }

// CheckID returns an *IDError where an id would give a PRD a directory that is
// Runner's own, or git references that git refuses. What pattern ids must match is
// not looked at.
func CheckID(id string) error {
	own := []string{objectsDir, locksDir, failedDir, trashDir, safetyDir, auditName, cacheName, "store"}
	name := encodeName(id)
	switch {
	case id == "" || id == "." || id == ".." || strings.ContainsAny(id, `/\`):
		return &IDError{id, "it can't be the name of a directory"}
	case slices.ContainsFunc(own, func(n string) bool { return strings.EqualFold(n, name) }):
		return &IDError{id, "Runner keeps a file or directory of its own under that name"}
	case slices.Contains([]string{archivingExt, importingExt, deletingExt, movingExt, ".json"}, strings.ToLower(filepath.Ext(name))):
		return &IDError{id, "Runner gives names that end with " + filepath.Ext(name) + " to files of its own"}
	case strings.Contains(name, "..") || strings.HasSuffix(name, ".") || strings.HasSuffix(name, ".lock"):
		return &IDError{id, `it would be part of the name of a git reference, which must not hold "..", and must not end with "." or ".lock"`}
	}
	return nil
}

// maxEncoded is how long a name may be in that of a file. It leaves a file system
// that takes names of 255 bytes room for what stands around it, at most in the
// temporary file of a checkpoint.
const maxEncoded = 160

// encodeName makes a name fit for a file: what is not a letter, a digit, ".",
// "_" or "-" is percent-encoded, and so is a "." at the beginning. One that gets too
// long is cut off, and ends with its digest, so that no two names get the same file.
func encodeName(name string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(name) + len("%5B%22%22%5D")) // of an instance of a for_each
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&0xf])
		}
	}
	if b.Len() <= maxEncoded {
		return b.String()
	}
	sum := sha256.Sum256([]byte(name))
	digest := "-" + hex.EncodeToString(sum[:16])
	return b.String()[:maxEncoded-len(digest)] + digest
}
