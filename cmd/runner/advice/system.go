package advice

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace/git"
)

// systemHint returns what the user can do about an error of the operating system that can
// happen anywhere, "" if there is no general advice. Nothing that the journal acknowledged
// is lost, whatever failed after it.
func systemHint(cmdline CommandLine, user string, err error) string {
	const retry = "then run the command again: nothing that was reported as done is lost"
	var at *fs.PathError
	var derived *checkpoint.DerivedError
	switch {
	case errors.Is(err, checkpoint.ErrLockLost):
		return "`runner status` shows the sessions that are on record and what is running; the next build continues from there, or starts over if the state was removed"
	case errors.Is(err, checkpoint.ErrJournalChanged):
		return "find out what changed the journal; `runner status` shows the state of the session and the command that repairs it"
	case errors.Is(err, checkpoint.ErrNotRegular), errors.Is(err, checkpoint.ErrTooLong):
		return "move away what is in the place of that file, " + retry
	case diskFull(err):
		return "free some space on that disk, " + retry
	case readOnly(err):
		return "make that disk writable, " + retry
	case fileTooLarge(err):
		return "raise the limit on file sizes, which `ulimit -f` shows, " + retry
	case noDescriptors(err):
		return "raise the limit on open files, which `ulimit -n` shows, " + retry
	case diskFailed(err):
		return "see what the system log says about that disk, " + retry
	case errors.Is(err, fs.ErrPermission) && errors.As(err, &at) && store.IsTemp(at.Path):
		return fmt.Sprintf("let the user %s write in %s, %s", cmp.Or(user, "who runs this"), cmdline.Display(filepath.Dir(at.Path)), retry)
	case errors.Is(err, fs.ErrPermission) && errors.As(err, &derived): // the file is first written under another name
		return fmt.Sprintf("let the user %s write in %s, %s", cmp.Or(user, "who runs this"), cmdline.Display(filepath.Dir(derived.Path)), retry)
	case errors.Is(err, fs.ErrPermission) && errors.As(err, &at):
		return fmt.Sprintf("let the user %s read and write %s, %s", cmp.Or(user, "who runs this"), cmdline.Display(barrier(at.Path)), retry)
	}
	return ""
}

// barrier returns the path to which the user lacks permission: the directory above the
// given path that may not be entered, or the path itself.
func barrier(path string) string {
	for {
		_, err := os.Lstat(path)
		above := filepath.Dir(path)
		if !errors.Is(err, fs.ErrPermission) || above == path {
			return path
		}
		path = above
	}
}

// Of returns what the user can do about an error, "" if nothing is known.
func Of(cmdline CommandLine, user string, err error) string {
	var h *hintError
	var git *git.StateError
	var untrusted *checkpoint.UntrustedError
	switch {
	case errors.As(err, &h):
		return cmdline.Localize(h.hint)
	case errors.As(err, &untrusted):
		return cmdline.Localize(Untrusted(untrusted))
	case errors.As(err, &git):
		return git.Remedy
	}
	return systemHint(cmdline, user, err)
}
