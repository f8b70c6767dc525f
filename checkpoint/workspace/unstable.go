package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"prdrunner/checkpoint/workspace/tree"
)

// A file that somebody writes to while it is read has no content that could be
// recorded. It is read again a few times, and then left out and named: a log
// that grows all the time is no reason to record nothing at all.

// unstableTries is how often a file is read that changes meanwhile.
const unstableTries = 3

// patient calls do again as long as the file that it reads changes meanwhile.
func patient(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if !errors.Is(err, ErrUnstable) || try == unstableTries || ctx.Err() != nil {
			return err
		}
	}
}

// giveUp takes a file that can't be read for one that is not there any more, or
// that is left out. Its mode may say that it can be read, and an ACL, or another rule of the system, not.
// What is needed, and any other error, is the caller's.
func (s *survey) giveUp(f *surveyed, err error) error {
	switch path := f.entry.Path; {
	case err == nil:
		return nil
	case tree.IsAbsent(err):
		f.state = vanished
	case errors.Is(err, fs.ErrPermission):
		f.state = denied
	case !errors.Is(err, ErrUnstable):
		return failed(path, err)
	case s.needed != nil && s.needed(path):
		return failed("the artifact "+path, err)
	default:
		f.state = changing
	}
	return nil
}

// giveUp is that of the survey, of a file that could not be kept: what is
// missing, or may not be used, may be where it was to be kept.
func (c *capture) giveUp(f *surveyed, err error) error {
	if tree.IsAbsent(err) {
		there := c.w.At(f.entry.Path, func(dir *os.Root, name string) error {
			_, err := dir.Lstat(tree.Native(name))
			return err
		})
		if !tree.IsAbsent(there) {
			return failed(f.entry.Path, err)
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		there := c.w.At(f.entry.Path, func(dir *os.Root, name string) error {
			return tree.PlaceIn(dir, name).TryOpen()
		})
		if !errors.Is(there, fs.ErrPermission) {
			return failed(f.entry.Path, err)
		}
	}
	return c.survey.giveUp(f, err)
}

// fileState is what became of a file since it was met.
type fileState uint8

const (
	present  fileState = iota
	vanished           // it is not there any more
	changing           // it changes while it is read
	denied             // it may not be read
)

// dropUnreadable takes out the files that are not there any more, and names those
// that are left out since they keep changing, or may not be read.
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

// Lacks reports whether a listing says of a path that it was there, or may have
// been, and was left out: nothing is known of its bytes.
func (l *Listing) Lacks(path string) bool {
	_, excluded := slices.BinarySearch(l.LeftOut, path)
	_, unstable := slices.BinarySearch(l.Unstable, path)
	return excluded || unstable || l.IsSpecial(path)
}

// IsSpecial reports whether what was at a path, or above it, could not be taken
// in. An artifact on record that is listed all the same is known.
func (l *Listing) IsSpecial(path string) bool {
	if len(l.Special) == 0 {
		return false
	}
	_, within := slices.BinarySearch(l.Special, path)
	for dir := range tree.Parents(path) {
		_, there := slices.BinarySearch(l.Special, dir)
		within = within || there
	}
	if !within {
		return false
	}
	_, listed := slices.BinarySearchFunc(l.Entries, Entry{Path: path}, byPath)
	return !listed
}
