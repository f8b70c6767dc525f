package workspace

import (
	"io"
	"strings"
)

// hiddenName stands in place of a name, or of the part of a path, that may not be
// recorded.
const hiddenName = "***"

// hideNames takes out of the survey what has a name in which the detector
// finds something, unless git's index has that name already. Such a file is
// left out under another name, as it can't even be named. It is called before
// anything is looked at, so that the cache does not come to know the name.
func (s *survey) hideNames() error {
	if s.w.refusal == nil {
		return nil
	}
	files := s.files[:0]
	for _, f := range s.files {
		shown, err := s.w.refusal.shown(f.entry.Path)
		switch {
		case err != nil:
			return err
		case f.index != "" || shown == f.entry.Path:
			files = append(files, f)
		default:
			s.hidden = append(s.hidden, f.entry.Path)
			s.excluded = append(s.excluded, shown)
		}
	}
	s.files = files
	excluded, err := s.withoutHidden(s.excluded)
	if err == nil {
		s.excluded = excluded
		s.unreadable, err = s.withoutHidden(s.unreadable)
	}
	return err
}

// withoutHidden returns paths as they may be recorded, and remembers those that
// may not.
func (s *survey) withoutHidden(paths []string) ([]string, error) {
	if s.w.refusal == nil {
		return paths, nil
	}
	for i, path := range paths {
		shown, err := s.w.refusal.shown(path)
		if err != nil {
			return nil, err
		}
		if shown != path {
			s.hidden = append(s.hidden, path)
			paths[i] = shown
		}
	}
	return paths, nil
}

// recordable returns the globs in which the detector finds nothing, with and without
// their escapes: a listing records them.
func (w *Workspace) recordable(globs []string) ([]string, error) {
	if w.refusal == nil {
		return globs, nil
	}
	var all []string
	for _, glob := range globs {
		found, err := w.refusal.finds(glob + "\n" + strings.ReplaceAll(glob, `\`, ""))
		if err != nil {
			return nil, err
		}
		if !found {
			all = append(all, glob)
		}
	}
	return all, nil
}

// isHidden reports whether an empty directory is left out for its name.
func (s *survey) isHidden(dir string) (bool, error) {
	if s.w.refusal == nil {
		return false, nil
	}
	return s.w.refusal.finds(dir)
}

// shown returns a path without the elements in which something is found, and
// hiddenName where it is found across several.
func (r *refusal) shown(path string) (string, error) {
	found, err := r.finds(path)
	if err != nil || !found {
		return path, err
	}
	elements := strings.Split(path, "/")
	for i, element := range elements {
		if found, err = r.finds(element); err != nil {
			return "", err
		} else if found {
			elements[i] = hiddenName
		}
	}
	rest := strings.Join(elements, "/")
	if found, err = r.finds(rest); found {
		return hiddenName, err
	}
	return rest, err
}

// finds reports whether something is found in a text.
func (r *refusal) finds(text string) (bool, error) {
	d := r.detector()
	_, err := io.WriteString(d, text)
	return d.Found(), err
}
