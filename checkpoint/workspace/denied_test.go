//go:build unix

package workspace

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// unprivileged reports whether the test runs as a user for whom the mode of a file can
// forbid reading. If not, it runs the test once more, as the user nobody.
func unprivileged(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "nobody")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	must(t, os.Chown(dir, nobody, nobody))
	program := filepath.Join(dir, "test")
	copyProgram(t, program)
	cmd := exec.Command(program, "-test.run=^"+t.Name()+"$")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	from, err := os.Executable()
	must(t, err)
	in, err := os.Open(from)
	must(t, err)
	defer func() { must(t, in.Close()) }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, err)
	must(t, out.Close())
}

// TestDenied captures a workspace with unreadable files and directories: the rest is
// captured, and the unreadable paths are named and do not count as deleted.
func TestDenied(t *testing.T) {
	if !unprivileged(t) {
		return
	}
	for _, mode := range []GitMode{GitRef, GitCommit, GitOff} {
		t.Run(string(mode), func(t *testing.T) {
			w, dir := gitKeeper(t, "", mode)
			for _, path := range []string{"open", "secret", "tracked", "closed/file", "new/closed/file", "listed/file"} {
				put(t, dir, path, path)
			}
			runGit(t, dir, "add", "open", "tracked", "closed/file")
			o := CaptureOptions{Patterns: []string{"**", "listed/file"}, Message: "m", When: time.Unix(1e9, 0), Ref: "refs/runner/test/1"}
			before, err := w.Capture(t.Context(), o)
			must(t, err)
			if before.Capture.Special != 0 || before.Files != 6 {
				t.Errorf("captured %+v", before)
			}
			deny(t, dir, "secret", "tracked", "closed", "new/closed", "listed")
			c, err := w.Capture(t.Context(), o)
			must(t, err)
			l, err := open(t, w.o).Load(t.Context(), c.Listing)
			must(t, err)
			want := []string{"closed", "listed", "new/closed", "secret", "tracked"}
			if c.Files != 1 || !slices.Equal(c.Special, want) || !slices.Equal(l.Special, want) || c.Capture.Special != len(want) {
				t.Errorf("%d files captured, %q named, %q in the listing (%d), want one and %q", c.Files, c.Special, l.Special, c.Capture.Special, want)
			}
			was, err := w.Load(t.Context(), before.Listing)
			must(t, err)
			if changes := Diff(was, l); len(changes) > 0 {
				t.Errorf("unreadable files count as changed: %+v", changes)
			}
			if paths, err := w.Unlisted(t.Context(), l, was.Entries); err != nil || len(paths) > 0 {
				t.Errorf("unlisted: %q, %v", paths, err)
			}
		})
	}
}

// TestDeniedInGit: an unreadable directory with a file that git tracks is named, even if
// no pattern matches it.
func TestDeniedInGit(t *testing.T) {
	if !unprivileged(t) {
		return
	}
	w, dir := gitKeeper(t, "", GitRef)
	put(t, dir, "closed/file", "x")
	put(t, dir, "open", "x")
	runGit(t, dir, "add", "open", "closed/file")
	deny(t, dir, "closed")
	c, err := w.Capture(t.Context(), CaptureOptions{Message: "m", When: time.Unix(1e9, 0), Ref: "refs/runner/test/1"})
	must(t, err)
	if !slices.Equal(c.Special, []string{"closed"}) || c.Files != 1 {
		t.Errorf("captured %+v", c)
	}
}

// TestDeniedWhileRead: a file that turns out to be unreadable, for example because of an
// ACL, is named. If the object store may not be written, the capture fails.
func TestDeniedWhileRead(t *testing.T) {
	if !unprivileged(t) {
		return
	}
	for name, read := range map[string]func(c *capture) error{
		"read": func(c *capture) error { return c.survey.readDigests(t.Context(), func(*surveyed) bool { return true }) },
		"kept": func(c *capture) error { return c.keepObjects(t.Context(), func(*surveyed) bool { return true }) },
	} {
		w, dir := keeper(t)
		put(t, dir, "a", "a")
		put(t, dir, "b", "b")
		s, err := newSurvey(t.Context(), w, []string{"*"})
		must(t, err)
		deny(t, dir, "b")
		c := &capture{w: w, survey: s, batch: w.o.Objects.Begin()}
		must(t, errors.Join(read(c), s.dropUnreadable()))
		if len(s.files) != 1 || s.files[0].entry.Path != "a" || !slices.Equal(s.unreadable, []string{"b"}) {
			t.Errorf("%s: captured %+v, unreadable %q", name, s.files, s.unreadable)
		}
		if err := c.handleKeepError(&s.files[0], os.ErrPermission); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s: the error for a readable file was dropped: %v", name, err)
		}
		must(t, c.batch.Abandon())
	}
}

// deny makes files and directories unreadable until the end of the test.
func deny(t *testing.T, dir string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		name := filepath.Join(dir, path)
		must(t, os.Chmod(name, 0))
		t.Cleanup(func() { must(t, os.Chmod(name, 0o700)) })
	}
}

// TestObstructedByDenied: an unreadable file is an obstacle, since it could not be
// restored later.
func TestObstructedByDenied(t *testing.T) {
	if !unprivileged(t) {
		return
	}
	w, dir := keeper(t)
	put(t, dir, "f", "x")
	kept, _, err := w.Keep(t.Context(), []string{"f"})
	must(t, err)
	put(t, dir, "f", "yy")
	deny(t, dir, "f")
	changes := []Change{{Path: "f", To: &kept[0]}}
	obstacles, err := w.Obstacles(t.Context(), changes)
	if err != nil || len(obstacles) != 1 || obstacles[0].Reason != "what is there may not be read" {
		t.Errorf("in the way: %v, %v", obstacles, err)
	}
	if found, err := w.Compare(t.Context(), kept); err != nil || found[0].Obstacle != "f" {
		t.Errorf("compared: %+v, %v", found, err)
	}
	done, err := w.Restore(t.Context(), changes, RestoreOptions{ID: "x", Force: true})
	if err != nil || done.Written != 0 || len(done.Skipped) != 1 {
		t.Errorf("forced: %+v, %v", done, err)
	}
}
