package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/text"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// The names of the checks of directories.
const (
	stateDirectory = "state directory"
	temporaryFiles = "temporary files"
	fileSystem     = "file system"
)

// The bounds below which room is short. A checkpoint of a small project takes some hundred
// kilobytes and some dozen files.
const (
	problemBytes, warningBytes = 16 << 20, 512 << 20
	problemFiles, warningFiles = 100, 5000
)

// stateDirectory examines the state directory, or the place where it will be made.
func (x *examination) stateDirectory(context.Context) {
	if x.store == nil {
		return
	}
	dir := x.store.Dir()
	at, err := existing(dir)
	if err != nil {
		x.fail(stateDirectory, err)
		return
	}
	if foreign := foreignBelow(dir); foreign != "" {
		x.add(stateDirectory, info.Problem, fmt.Sprintf("as root, `chown -R %d %s` makes it yours", os.Geteuid(), text.ShellWord(dir)), "%s belongs to another user", x.env.Display(foreign))
	}
	var found traits
	if at == dir {
		found, err = probe(dir)
	} else { // the directory above is not Runner's, so that the probe has no place there
		err = writable(at)
	}
	switch {
	case err != nil:
		x.fail(stateDirectory, fmt.Errorf("write in %s: %w", x.env.Display(at), err))
		return
	case at == dir:
		x.ok(stateDirectory, "%s can be written", x.env.Display(dir))
		x.traits(found, dir)
	default:
		x.ok(stateDirectory, "%s is made by the first build", x.env.Display(dir))
		if !x.onNetwork(at) {
			x.add(fileSystem, info.NotChecked, "`runner doctor` tries it after the first build", "there is no state directory yet")
		}
	}
	x.room("disk of the state", at)
}

// existing returns a directory, or the nearest one above it that exists.
func existing(dir string) (string, error) {
	for {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return "", fmt.Errorf("%s is not a directory", dir)
		case err == nil:
			return dir, nil
		case !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir:
			return "", err
		}
		dir = filepath.Dir(dir)
	}
}

// foreignBelow returns a path in a directory, or one level below it, that belongs to another
// user, "" if there is none. A run as root leaves such files.
func foreignBelow(dir string) string {
	for _, pattern := range []string{"*", "*/*"} {
		paths, err := filepath.Glob(filepath.Join(escapeGlob(dir), pattern))
		if err != nil {
			return ""
		}
		for _, path := range paths {
			if info, err := os.Lstat(path); err == nil && disk.IsForeign(info) {
				return path
			}
		}
	}
	return ""
}

// escapeGlob makes a path match itself alone.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path // there is no escape, and the characters are rare in names
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// temporaryFiles examines the directory for temporary files, which also takes rescue copies.
func (x *examination) temporaryFiles(context.Context) {
	dir := os.TempDir()
	probe, err := os.MkdirTemp(dir, "runner-doctor-")
	if err == nil {
		err = os.Remove(probe)
	}
	if err != nil {
		x.add(temporaryFiles, info.Problem, "set TMPDIR to a directory that you can write", "%v", err)
		return
	}
	x.ok(temporaryFiles, "%s can be written", dir)
	x.room("disk of temporary files", dir)
}

// room examines how much room there is on the disk of a directory.
func (x *examination) room(check, dir string) {
	space, known := spaceOf(dir)
	if !known {
		return
	}
	level, next := space.level(), ""
	if level != info.OK {
		next = "`df -h " + text.ShellWord(dir) + "` and `df -i " + text.ShellWord(dir) + "` show the disk; `runner checkpoint prune --dry-run` what Runner can remove"
	}
	files := ""
	if space.counted {
		files = fmt.Sprintf(" and %d files", space.files)
	}
	x.add(check, level, next, "room for %s%s", info.Size(int64(min(space.bytes, 1<<62))), files)
}

// space is the room on a disk.
type space struct {
	bytes   uint64 // that an ordinary user may write
	files   uint64
	counted bool   // the number of files is limited
	network string // the kind of a file system that is on another machine, "": it is on this one
}

// level says whether there is enough room.
func (s space) level() info.Level {
	switch {
	case s.bytes < problemBytes || s.counted && s.files < problemFiles:
		return info.Problem
	case s.bytes < warningBytes || s.counted && s.files < warningFiles:
		return info.Warning
	}
	return info.OK
}

// traits are what a file system does of what Runner relies on.
type traits struct {
	lock, link, replace, symlink error
	foldsCase, clones            bool
	skew                         time.Duration // of the clock that dates files
}

// probeTime is the longest time that a probe should take. What an older one has left, a doctor
// that was killed has.
const probeTime = time.Minute

// probe tries the operations that Runner relies on, in a directory of its own in the state
// directory, which it removes. It also removes what a doctor that was killed has left.
func probe(state string) (found traits, err error) {
	fsys, path := store.OS(), filepath.Join(state, "doctor")
	if err := store.RemoveTempsOf(fsys, path, time.Now().Add(-probeTime)); err != nil {
		return traits{}, err
	}
	dir := store.TempName(path)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return traits{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	began := time.Now()
	if err := store.WriteFile(fsys, one, []byte("probe")); err != nil { // syncs the file and the directory
		return traits{}, err
	}
	info, err := os.Lstat(one)
	if err != nil {
		return traits{}, err
	}
	if skew := info.ModTime().Sub(began); skew.Abs() > time.Minute {
		found.skew = skew
	}
	_, upper := os.Lstat(filepath.Join(dir, "ONE"))
	found.foldsCase = upper == nil
	found.link = fsys.Link(one, two)
	found.replace = replaces(fsys, one, two)
	found.symlink = fsys.Symlink("two", filepath.Join(dir, "link"))
	found.lock = excludes(fsys, filepath.Join(dir, "lock"))
	found.clones = clones(two, filepath.Join(dir, "clone"))
	return found, nil
}

// replaces tries whether a rename replaces a file.
func replaces(fsys store.FS, one, two string) error {
	if err := store.WriteFile(fsys, two, []byte("other")); err != nil {
		return err
	}
	if err := fsys.Rename(one, two); err != nil {
		return err
	}
	data, err := os.ReadFile(two)
	if err == nil && string(data) != "probe" {
		err = errors.New("the old content is still there after a rename")
	}
	return err
}

// excludes tries whether a lock keeps others out.
func excludes(fsys store.FS, path string) error {
	held, err := fsys.TryLock(path, false)
	if err != nil {
		return err
	}
	again, err := fsys.TryLock(path, false)
	if err == nil {
		err = errors.Join(errors.New("a file can be locked twice"), again.Unlock())
	} else if errors.Is(err, store.ErrLocked) {
		err = nil
	}
	return errors.Join(err, held.Unlock())
}

// clones tries whether two files can share blocks.
func clones(from, to string) bool {
	source, err := os.Open(from)
	if err != nil {
		return false
	}
	defer func() { _ = source.Close() }() // it was only read
	target, err := os.Create(to)
	if err != nil {
		return false
	}
	shared := store.Clone(target, source)
	return target.Close() == nil && shared
}

// elsewhere says what to do about a file system that does not suit.
const elsewhere = "put the state on another file system: checkpoint.storage.location in runner.yaml"

// onNetwork reports whether a directory is on another machine, and adds a warning if it is.
func (x *examination) onNetwork(dir string) bool {
	space, _ := spaceOf(dir)
	if space.network == "" {
		return false
	}
	x.add(fileSystem, info.Warning, elsewhere+", if other machines use this directory and its server has no locks", "%s: locks hold only as far as the server carries them", space.network)
	return true
}

// traits adds a finding about what the file system of the state does not do.
func (x *examination) traits(found traits, dir string) {
	var lacks []string
	for _, t := range []struct {
		what string
		err  error
	}{{"locks", found.lock}, {"hard links", found.link}, {"a rename that replaces", found.replace}} {
		if t.err != nil {
			lacks = append(lacks, fmt.Sprintf("%s (%v)", t.what, t.err))
		}
	}
	var notes []string
	note := func(is bool, yes, no string) {
		if is {
			notes = append(notes, yes)
		} else if no != "" {
			notes = append(notes, no)
		}
	}
	note(!found.foldsCase, "upper and lower case differ", "upper and lower case are the same")
	note(found.symlink == nil, "symbolic links", "no symbolic links")
	note(found.clones, "copies share blocks", "")
	switch {
	case len(lacks) > 0:
		x.add(fileSystem, info.Problem, elsewhere, "it lacks %s", strings.Join(lacks, ", "))
	case x.onNetwork(dir):
	case found.skew != 0:
		x.add(fileSystem, info.Warning, "set the clocks of both machines", "it dates files %s apart from this machine's clock", view.Duration(found.skew.Abs()))
	default:
		x.ok(fileSystem, "fsync, locks, hard links, rename; %s", strings.Join(notes, ", "))
	}
}
