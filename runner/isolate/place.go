package isolate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/failpoint"
)

// ownName is the name of Runner's directory in the user's cache.
const ownName = "prdrunner"

// errNoPlace says that work trees would be part of the workspace.
var errNoPlace = errors.New("there is no directory for work trees outside of the workspace: the user's cache and the directory for temporary files are in it. Set XDG_CACHE_HOME or TMPDIR to a directory elsewhere")

// PlaceError says why Runner neither makes nor removes work trees in a directory: another user
// could replace the directory or its files.
type PlaceError struct {
	Path   string
	Detail string
}

func (e *PlaceError) Error() string {
	return fmt.Sprintf("%s can't hold work trees: %s. Remove it, or set XDG_CACHE_HOME to a directory of your own", e.Path, e.Detail)
}

// place is where the work trees of a PRD may be.
type place struct {
	base string   // a directory that Runner shares with others; it may be a link
	own  []string // the names of Runner's own directories below it; the last one is for the PRD alone
}

// places returns the places, the best first. A directory in the user's cache is rarely in
// memory, and often on the file system of the workspace, so that copies may share blocks.
func (t *Trees) places() []place {
	name := safeName(t.o.PRD) + "-" + shortSum(t.o.StateDir+"\x00"+t.o.PRD)
	if t.o.Dir != "" {
		return []place{{t.o.Dir, []string{name}}}
	}
	var all []place
	if cache, err := os.UserCacheDir(); err == nil {
		all = append(all, place{cache, []string{ownName, "worktrees", name}})
	}
	if temp, err := filepath.Abs(os.TempDir()); err == nil {
		all = append(all, place{temp, []string{fmt.Sprintf("%s-%d", ownName, os.Getuid()), "worktrees", name}})
	}
	return all
}

// makePlace makes the directory that holds the work trees of the PRD. It is outside of the
// workspace.
func (t *Trees) makePlace() (string, error) {
	failed := errNoPlace
	for _, p := range t.places() {
		if isWithin(t.o.Workspace, filepath.Join(p.base, filepath.Join(p.own...))) {
			continue
		}
		if failed = os.MkdirAll(p.base, 0o700); failed == nil {
			return p.make()
		}
	}
	return "", failed
}

// make makes those of Runner's own directories that are missing, and returns the last one. Only
// their owner can enter them, because files of the workspace may be secret.
func (p place) make() (string, error) {
	return p.walk(func(dir string) error {
		if err := failpoint.Before(failpoint.Mkdir, filepath.Base(dir)); err != nil {
			return err
		}
		if err := os.Mkdir(dir, 0o700); !errors.Is(err, fs.ErrExist) { // another run may have made it just now
			return err
		}
		return nil
	})
}

// find returns the last directory. It makes nothing.
func (p place) find() (string, error) {
	return p.walk(func(dir string) error { return &fs.PathError{Op: "find", Path: dir, Err: fs.ErrNotExist} })
}

// walk checks Runner's own directories, and returns the last one, without links: git records
// such a path. It calls missing for each one that does not exist.
func (p place) walk(missing func(dir string) error) (string, error) {
	dir, err := filepath.EvalSymlinks(p.base)
	if err != nil {
		return "", err
	}
	for _, name := range p.own {
		dir = filepath.Join(dir, name)
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			if err = missing(dir); err == nil {
				info, err = os.Lstat(dir)
			}
		}
		if err != nil {
			return "", err
		}
		if detail := distrust(info); detail != "" {
			return "", &PlaceError{dir, detail}
		}
	}
	return dir, nil
}

// distrust says why a directory may not be Runner's own; "": it is.
func distrust(info fs.FileInfo) string {
	switch {
	case info.Mode().Type() == fs.ModeSymlink:
		return "it is a symbolic link, and what lies behind it is not touched"
	case !info.IsDir():
		return "it is not a directory"
	case disk.IsForeign(info):
		return "it belongs to another user"
	case disk.IsWritableByOthers(info):
		return "other users may write to it"
	}
	return ""
}

// isWithin reports whether a path is a directory or below it, also behind links.
func isWithin(dir, path string) bool {
	for _, resolve := range []func(string) string{filepath.Clean, realPath} {
		if rel, err := filepath.Rel(resolve(dir), resolve(path)); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// realPath resolves the links on the way to a path, as far as it exists.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(realPath(dir), filepath.Base(path))
	}
	return path
}

// shortSum returns the beginning of the SHA-256 of a text.
func shortSum(text string) string {
	const enough = 6
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:enough])
}

// safeName returns the beginning of a name without characters that are special in some file
// system.
func safeName(name string) string {
	const most = 40
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, name[:min(len(name), most)])
}
