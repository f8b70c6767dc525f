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

// A commit is written in a quarantine: a repository of its own in the directory of
// the user's objects, which it can read. Nothing of it is the user's before it is
// whole, and what git leaves behind when it fails, such as its crash reports, goes
// with the quarantine.
//
// Then everything that no reference of the user's repository reaches becomes one
// pack. It moves into the repository together with a .keep file, which git's
// garbage collection respects, and which goes once the reference is there. So no
// prune, whenever it looked for what is reachable, removes anything of the commit:
// neither what the commit brought, nor what lay unreachable in the repository
// before.
type quarantine struct {
	git *Repository
	dir string
}

const (
	// quarantinePrefix begins the names of quarantines. Git prunes what is called tmp_….
	quarantinePrefix = "runner-capture-"
	// keepMark begins what is in a .keep file of ours.
	keepMark = "runner capture "
	// leftoverAge is how old a quarantine or a .keep file must be to have been left by a
	// process that was killed.
	leftoverAge = 24 * time.Hour
)

func (g *Repository) objectsDir() string { return filepath.Join(g.commonDir, "objects") }

// newQuarantine makes a quarantine, and removes those that were left behind.
func (g *Repository) newQuarantine() (q *quarantine, err error) {
	if err := g.removeLeftovers(time.Now().Add(-leftoverAge)); err != nil {
		return nil, fmt.Errorf("remove what an earlier capture left in git: %w", err)
	}
	dir := filepath.Join(g.objectsDir(), quarantinePrefix+rand.Text())
	q = &quarantine{git: g, dir: dir}
	if err := q.fill(); err != nil {
		return nil, errors.Join(fmt.Errorf("make a place for what is captured in git: %w", err), q.remove())
	}
	return q, nil
}

// fill makes the repository. It has the settings of the user's but for what these say about
// the repository itself.
func (q *quarantine) fill() error {
	version, extensions := 0, ""
	if q.git.format != "sha1" {
		version, extensions = 1, "[extensions]\n\tobjectFormat = "+q.git.format+"\n"
	}
	for _, dir := range []string{"", "objects", "objects/info", "objects/pack", "refs"} {
		if err := q.git.fs.Mkdir(q.path(dir), store.DirPerm); err != nil {
			return err
		}
	}
	for name, content := range map[string]string{
		"HEAD":                    "ref: refs/heads/none\n",
		"config":                  fmt.Sprintf("[include]\n\tpath = ../../config\n[core]\n\trepositoryFormatVersion = %d\n\tbare = true\n%s", version, extensions),
		"objects/info/alternates": "../..\n",
	} {
		if err := q.write(q.path(name), content); err != nil {
			return err
		}
	}
	return nil
}

func (q *quarantine) path(name string) string {
	return filepath.Join(q.dir, filepath.FromSlash(name))
}

// write makes a file, which need not survive a power cut.
func (q *quarantine) write(name, content string) error {
	f, err := q.git.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, store.FilePerm)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(content))
	return errors.Join(err, f.Close())
}

// command is a git command that works on the quarantine.
func (q *quarantine) command(args ...string) Command {
	c := q.git.command(args...)
	c.Env = append(c.Env, "GIT_DIR="+q.dir, "GIT_SHALLOW_FILE="+filepath.Join(q.git.commonDir, "shallow"))
	return c
}

// release makes a commit of the quarantine one of the user's repository, which gets a
// reference to it last. reachable are commits that references of the repository reach.
func (q *quarantine) release(ctx context.Context, ref, commit string, reachable []string) error {
	pack, err := q.pack(ctx, commit, reachable)
	if err != nil {
		return err
	}
	kept, err := q.move(pack, ref)
	if err != nil {
		return fmt.Errorf("move what was captured to git's objects: %w", err)
	}
	if err := q.git.setRef(ctx, ref, commit); err != nil {
		return errors.Join(err, q.git.fs.Remove(kept))
	}
	if err := q.verify(ctx, ref, commit, reachable); err != nil {
		return errors.Join(err, q.git.fs.Remove(kept))
	}
	return q.git.fs.Remove(kept)
}

// pack writes one pack of what of a commit none of the reachable ones has, durable but
// for its name. It returns the path of the pack without its extension.
func (q *quarantine) pack(ctx context.Context, commit string, reachable []string) (string, error) {
	revisions := commit + "\n"
	for _, name := range reachable {
		revisions += "^" + name + "\n"
	}
	base := q.path("captured")
	c := q.command("-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync", "-c", "core.compression=1", "-c", "pack.compression=1", "-c", "pack.packSizeLimit=0",
		"-c", "pack.writeReverseIndex=false", "-c", streamThreshold, "pack-objects", "-q", "--revs", "--window=0", base)
	out, err := q.git.capture(ctx, strings.NewReader(revisions), c)
	if err != nil {
		return "", fmt.Errorf("pack what was captured: %w", err)
	}
	name := strings.TrimSuffix(string(out), "\n")
	if !q.git.isName(name) {
		return "", fmt.Errorf("pack what was captured: unexpected answer %q", out)
	}
	return base + "-" + name, nil
}

// move moves a pack to the user's, where the .keep file is first, and the index, without
// which git does not look at it, last. Its name is new: a pack of the same objects may
// be about to be removed. It returns the path of the .keep file.
func (q *quarantine) move(pack, ref string) (kept string, err error) {
	name := make([]byte, hex.DecodedLen(len(filepath.Base(pack))-len("captured-")))
	if _, err := rand.Read(name); err != nil {
		return "", err
	}
	to := filepath.Join(q.git.objectsDir(), "pack", "pack-"+hex.EncodeToString(name))
	kept = to + ".keep"
	err = q.write(kept, keepMark+ref+"\n")
	if errors.Is(err, fs.ErrNotExist) { // a repository that was never packed lacks the directory
		if err = q.git.fs.Mkdir(filepath.Dir(to), 0o777); err == nil || errors.Is(err, fs.ErrExist) {
			err = q.write(kept, keepMark+ref+"\n")
		}
	}
	if err != nil {
		return "", errors.Join(err, q.removeIfThere(kept))
	}
	for _, ext := range []string{".pack", ".idx"} {
		if err := q.git.fs.Rename(pack+ext, to+ext); err != nil {
			return "", errors.Join(err, q.git.fs.Remove(kept))
		}
	}
	return kept, q.git.fs.SyncDir(filepath.Dir(to))
}

// verify makes sure that the repository has a commit to which a reference was made, and what
// the commit is based on. Where it lacks one of these the reference is removed.
func (q *quarantine) verify(ctx context.Context, ref, commit string, reachable []string) error {
	names := append([]string{commit}, reachable...)
	kinds, err := q.git.kinds(ctx, names)
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

// ErrPruned says that git has removed what a capture needs while it was made.
var ErrPruned = errors.New("git has removed it meanwhile")

// removeIfThere removes a file that need not have come to be.
func (q *quarantine) removeIfThere(path string) error {
	if err := q.git.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// remove removes the quarantine, and all in it.
func (q *quarantine) remove() error { return removeTree(q.git.fs, q.dir) }

// removeTree removes a directory and what is in it. It follows no link.
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

// removeLeftovers removes quarantines and .keep files that are older than any capture
// takes, as far as this user may.
func (g *Repository) removeLeftovers(before time.Time) error {
	return errors.Join(
		g.eachOlder(g.objectsDir(), before, func(name, path string) error {
			if !strings.HasPrefix(name, quarantinePrefix) {
				return nil
			}
			return removeTree(g.fs, path)
		}),
		g.eachOlder(filepath.Join(g.objectsDir(), "pack"), before, func(name, path string) error {
			if !strings.HasSuffix(name, ".keep") {
				return nil
			}
			data, err := store.ReadFile(g.fs, path)
			if err != nil || !strings.HasPrefix(string(data), keepMark) {
				return nil //nolint:nilerr // it is somebody else's
			}
			return g.fs.Remove(path)
		}))
}

// eachOlder calls do for what is in a directory and was not changed since a time.
func (g *Repository) eachOlder(dir string, before time.Time, do func(name, path string) error) error {
	entries, err := g.fs.ReadDir(dir)
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
				continue // it is another user's, or another capture removes it: no reason not to capture
			}
			err = errors.Join(err, failed)
		}
	}
	return err
}

// setRef makes a reference of ours name a commit, whatever it named before, durable when it
// returns.
func (g *Repository) setRef(ctx context.Context, ref, commit string) error {
	_, err := g.output(ctx, nil, durable("-c", "core.logAllRefUpdates=false", "update-ref", "--no-deref", ref, commit)...)
	if err != nil {
		return fmt.Errorf("keep commit %s as %s: %w", commit, ref, err)
	}
	return g.settle(ref, time.Now())
}
