package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"prdrunner/checkpoint/workspace/tree"
)

// A file that another process writes to while Runner reads it has no content that could be
// recorded. Runner reads it a few times more, then skips and names it: a log that grows
// all the time must not prevent a capture.

// unstableTries bounds how often a file is read that changes meanwhile.
const unstableTries = 3

// retryUnstable calls do, and again while the file that do reads changes meanwhile, at
// most unstableTries times.
func retryUnstable(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if !errors.Is(err, ErrUnstable) || try == unstableTries || ctx.Err() != nil {
			return err
		}
	}
}

// markUnreadable marks a file as vanished or unreadable according to err. Permission may
// be denied although the mode allows reading, by an ACL or another rule of the system. If
// the file is needed and unstable, or for any other error, markUnreadable returns the
// error.
func (s *survey) markUnreadable(f *surveyed, err error) error {
	switch path := f.entry.Path; {
	case err == nil:
		return nil
	case tree.IsAbsent(err):
		f.state = vanished
	case errors.Is(err, fs.ErrPermission):
		f.state = denied
	case !errors.Is(err, ErrUnstable):
		return withPath(path, err)
	case s.needed != nil && s.needed(path):
		return withPath("the artifact "+path, err)
	default:
		f.state = changing
	}
	return nil
}

// handleKeepError handles a file whose bytes could not be stored. If the file itself
// exists and is readable, the error is about the store, and handleKeepError returns it.
// Otherwise markUnreadable marks the file.
func (c *capture) handleKeepError(f *surveyed, err error) error {
	if tree.IsAbsent(err) {
		there := c.w.tree.At(f.entry.Path, func(dir *os.Root, name string) error {
			_, err := dir.Lstat(tree.Native(name))
			return err
		})
		if !tree.IsAbsent(there) {
			return withPath(f.entry.Path, err)
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		there := c.w.tree.At(f.entry.Path, func(dir *os.Root, name string) error {
			return tree.PlaceIn(dir, name).TryOpen()
		})
		if !errors.Is(there, fs.ErrPermission) {
			return withPath(f.entry.Path, err)
		}
	}
	return c.survey.markUnreadable(f, err)
}

// fileState says whether a surveyed file is readable.
type fileState uint8

const (
	present  fileState = iota
	vanished           // it no longer exists
	changing           // it changes while it is read
	denied             // Runner may not read it
)

// dropUnreadable removes the files that have vanished, are unstable, or may not be read.
// It adds unstable files to s.unstable, and files that may not be read to s.unreadable.
func (s *survey) dropUnreadable() (err error) {
	var denials []string
	s.files = slices.DeleteFunc(s.files, func(f surveyed) bool {
		switch f.state {
		case changing:
			s.unstable = append(s.unstable, f.entry.Path)
		case denied:
			denials = append(denials, f.entry.Path)
		case present, vanished:
		}
		return f.state != present
	})
	slices.Sort(s.unstable)
	if len(denials) > 0 {
		s.unreadable, err = s.withoutHidden(outermost(append(s.unreadable, denials...)))
	}
	return err
}
