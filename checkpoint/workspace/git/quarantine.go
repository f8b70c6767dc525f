package git

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"prdrunner/checkpoint/store"
)

// quarantine is a repository in the user's objects directory in which a commit is
// written. It can read the user's objects. The user's repository gets nothing of the
// commit before it is complete, and files that a failing git leaves, such as crash
// reports, are removed with the quarantine.
//
// Then everything that no reference of the user's repository reaches becomes one pack.
// It moves into the repository together with a .keep file, which git's garbage
// collection respects, and which is removed once the reference exists. So no prune,
// whenever it computed what is reachable, removes an object of the commit: neither one
// that the commit added, nor one that was unreachable in the repository before.
type quarantine struct {
	git *Repository
	dir string
}

const (
	// quarantinePrefix begins the names of quarantines. Git prunes files named tmp_….
	quarantinePrefix = "runner-capture-"
	// keepMark begins the content of Runner's .keep files.
	keepMark = "runner capture "
	// leftoverAge is the age at which a quarantine or a .keep file counts as left by a
	// process that was killed.
	leftoverAge = 24 * time.Hour
)

func (g *Repository) objectsDir() string { return filepath.Join(g.commonDir, "objects") }

// newQuarantine makes a quarantine, and removes the quarantines of killed processes.
func (g *Repository) newQuarantine() (q *quarantine, err error) {
	if err := removeLeftovers(g, time.Now().Add(-leftoverAge)); err != nil {
		return nil, fmt.Errorf("remove what an earlier capture left in git: %w", err)
	}
	dir := filepath.Join(g.objectsDir(), quarantinePrefix+rand.Text())
	q = &quarantine{git: g, dir: dir}
	if err := q.initialize(); err != nil {
		return nil, errors.Join(fmt.Errorf("make a place for what is captured in git: %w", err), q.remove())
	}
	return q, nil
}

// initialize makes the repository. It has the user's settings, except for the format of
// the repository.
func (q *quarantine) initialize() error {
	version, extensions := 0, ""
	if q.git.format != "sha1" {
		version, extensions = 1, "[extensions]\n\tobjectFormat = "+q.git.format+"\n"
	}
	for _, dir := range []string{"", "objects", "objects/info", "objects/pack", "refs"} {
		if err := q.git.fs.Mkdir(q.pathOf(dir), store.DirPerm); err != nil {
			return err
		}
	}
	for name, content := range map[string]string{
		"HEAD":                    "ref: refs/heads/none\n",
		"config":                  fmt.Sprintf("[include]\n\tpath = ../../config\n[core]\n\trepositoryFormatVersion = %d\n\tbare = true\n%s", version, extensions),
		"objects/info/alternates": "../..\n",
	} {
		if err := q.writeFile(q.pathOf(name), content); err != nil {
			return err
		}
	}
	return nil
}

func (q *quarantine) pathOf(name string) string {
	return filepath.Join(q.dir, filepath.FromSlash(name))
}

// writeFile makes a file that need not survive a power cut.
func (q *quarantine) writeFile(name, content string) error {
	f, err := q.git.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, store.FilePerm)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(content))
	return errors.Join(err, f.Close())
}

// command returns a git command that works on the quarantine.
func (q *quarantine) command(args ...string) Command {
	c := q.git.command(args...)
	c.Env = append(c.Env, "GIT_DIR="+q.dir, "GIT_SHALLOW_FILE="+filepath.Join(q.git.commonDir, "shallow"))
	return c
}

// publish moves a commit from the quarantine into the user's repository, and then makes
// the reference to it. reachable are commits that references of the repository reach.
func (q *quarantine) publish(ctx context.Context, ref, commit string, reachable []string) error {
	pack, err := q.packCommit(ctx, commit, reachable)
	if err != nil {
		return err
	}
	kept, err := q.installPack(pack, ref)
	if err != nil {
		return fmt.Errorf("move what was captured to git's objects: %w", err)
	}
	if err := q.setRef(ctx, ref, commit); err != nil {
		return errors.Join(err, q.git.fs.Remove(kept))
	}
	if err := q.verify(ctx, ref, commit, reachable); err != nil {
		return errors.Join(err, q.git.fs.Remove(kept))
	}
	return q.git.fs.Remove(kept)
}

// packCommit writes one pack of the commit's objects that no reachable commit has. The
// pack is durable, except for its name. pack returns its path without the extension.
func (q *quarantine) packCommit(ctx context.Context, commit string, reachable []string) (string, error) {
	revisions := commit + "\n"
	for _, name := range reachable {
		revisions += "^" + name + "\n"
	}
	base := q.pathOf("captured")
	c := q.command("-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync", "-c", "core.compression=1", "-c", "pack.compression=1", "-c", "pack.packSizeLimit=0",
		"-c", "pack.writeReverseIndex=false", "-c", streamThreshold, "pack-objects", "-q", "--revs", "--window=0", base)
	out, err := q.git.runCapturing(ctx, strings.NewReader(revisions), c)
	if err != nil {
		return "", fmt.Errorf("pack what was captured: %w", err)
	}
	name := strings.TrimSuffix(string(out), "\n")
	if !q.git.isName(name) {
		return "", fmt.Errorf("pack what was captured: unexpected answer %q", out)
	}
	return base + "-" + name, nil
}

// installPack moves a pack into the user's repository: first the .keep file, last the
// index, without which git ignores the pack. The name is new, since git may be removing a
// pack of the same objects. installPack returns the path of the .keep file.
func (q *quarantine) installPack(pack, ref string) (kept string, err error) {
	name := make([]byte, hex.DecodedLen(len(filepath.Base(pack))-len("captured-")))
	if _, err := rand.Read(name); err != nil {
		return "", err
	}
	to := filepath.Join(q.git.objectsDir(), "pack", "pack-"+hex.EncodeToString(name))
	kept = to + ".keep"
	err = q.writeFile(kept, keepMark+ref+"\n")
	if errors.Is(err, fs.ErrNotExist) { // a repository that was never packed lacks the directory
		if err = q.git.fs.Mkdir(filepath.Dir(to), 0o777); err == nil || errors.Is(err, fs.ErrExist) {
			err = q.writeFile(kept, keepMark+ref+"\n")
		}
	}
	if err != nil {
		return "", errors.Join(err, q.removeIfExists(kept))
	}
	for _, ext := range []string{".pack", ".idx"} {
		if err := q.git.fs.Rename(pack+ext, to+ext); err != nil {
			return "", errors.Join(err, q.git.fs.Remove(kept))
		}
	}
	return kept, q.git.fs.SyncDir(filepath.Dir(to))
}

// verify checks that the repository has the commit and those that it builds on. If one is
// missing, it removes the reference.
func (q *quarantine) verify(ctx context.Context, ref, commit string, reachable []string) error {
	names := append([]string{commit}, reachable...)
	kinds, err := q.git.objectKinds(ctx, names)
	if err != nil {
		return err
	}
	for _, name := range names {
		if kinds[name] != "commit" {
			return errors.Join(fmt.Errorf("commit %s: %w", name, ErrPruned), q.git.DeleteRefs(ctx, []string{ref}))
		}
	}
	return nil
}

// ErrPruned says that git has removed an object that a commit needs while it was written.
var ErrPruned = errors.New("git has removed it meanwhile")

// removeIfExists removes a file, if it exists.
func (q *quarantine) removeIfExists(path string) error {
	if err := q.git.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// remove removes the quarantine and everything in it.
func (q *quarantine) remove() error { return removeTree(q.git.fs, q.dir) }

// removeTree removes a directory and everything in it. It follows no link.
func removeTree(fsys store.FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			err = errors.Join(err, removeTree(fsys, path))
		} else if gone := fsys.Remove(path); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return errors.Join(err, fsys.Remove(dir))
}

// removeLeftovers removes quarantines and .keep files that are older than the longest
// capture. It skips those that this user may not remove.
func removeLeftovers(g *Repository, before time.Time) error {
	return errors.Join(
		forEachOlder(g.fs, g.objectsDir(), before, func(name, path string) error {
			if !strings.HasPrefix(name, quarantinePrefix) {
				return nil
			}
			return removeTree(g.fs, path)
		}),
		forEachOlder(g.fs, filepath.Join(g.objectsDir(), "pack"), before, func(name, path string) error {
			if !strings.HasSuffix(name, ".keep") {
				return nil
			}
			data, err := store.ReadFile(g.fs, path)
			if err != nil || !strings.HasPrefix(string(data), keepMark) {
				return nil //nolint:nilerr // Runner did not write it
			}
			return g.fs.Remove(path)
		}))
}

// forEachOlder calls do for the quarantines and .keep files in a directory that were last
// modified before the given time.
func forEachOlder(fsys store.FS, dir string, before time.Time, do func(name, path string) error) error {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), quarantinePrefix) && !strings.HasSuffix(e.Name(), ".keep") {
			continue
		}
		if info, gone := e.Info(); gone == nil && info.ModTime().Before(before) {
			failed := do(e.Name(), filepath.Join(dir, e.Name()))
			if errors.Is(failed, fs.ErrPermission) || errors.Is(failed, fs.ErrNotExist) {
				continue // another user owns it, or another capture is removing it
			}
			err = errors.Join(err, failed)
		}
	}
	return err
}

// setRef sets one of Runner's references to a commit, even if the reference exists. The
// reference is durable when setRef returns.
func (q *quarantine) setRef(ctx context.Context, ref, commit string) error {
	_, err := q.git.output(ctx, nil, durable("-c", "core.logAllRefUpdates=false", "update-ref", "--no-deref", ref, commit)...)
	if err != nil {
		return fmt.Errorf("keep commit %s as %s: %w", commit, ref, err)
	}
	return syncer{q.git}.syncRef(ref, time.Now())
}
