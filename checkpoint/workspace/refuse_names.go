package workspace

import (
	"io"
	"strings"
)

// hiddenName replaces a name, or an element of a path, that may not be recorded.
const hiddenName = "***"

// hideNames excludes files in whose names the detector finds a value, unless git's index
// has the name already. Such a file is recorded under another name. The caller must call
// hideNames before any file is described, so that the cache does not record the name.
func (s *survey) hideNames() error {
	if r := s.w.files.refusal; r == nil || r.detector == nil {
		return nil
	}
	files := s.files[:0]
	for _, f := range s.files {
		shown, err := s.w.files.refusal.hideIn(f.entry.Path)
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

// withoutHidden replaces the parts of paths that may not be recorded, and adds the true
// paths to s.hidden.
func (s *survey) withoutHidden(paths []string) ([]string, error) {
	for i, path := range paths {
		shown, err := s.w.files.refusal.hideIn(path)
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

// recordable returns the globs in which the detector finds nothing, with and without their
// escapes, since a listing records them.
func (r *refusal) recordable(globs []string) ([]string, error) {
	var all []string
	for _, glob := range globs {
		found, err := r.detectIn(glob + "\n" + strings.ReplaceAll(glob, `\`, ""))
		if err != nil {
			return nil, err
		}
		if !found {
			all = append(all, glob)
		}
	}
	return all, nil
}

// isHidden reports whether an empty directory is excluded for its name.
func (s *survey) isHidden(dir string) (bool, error) {
	return s.w.files.refusal.detectIn(dir)
}

// hideIn returns a path with hiddenName in place of each element in which the detector
// finds a value. If it finds a value across several elements, shown returns only
// hiddenName.
func (r *refusal) hideIn(path string) (string, error) {
	found, err := r.detectIn(path)
	if err != nil || !found {
		return path, err
	}
	elements := strings.Split(path, "/")
	for i, element := range elements {
		if found, err = r.detectIn(element); err != nil {
			return "", err
		} else if found {
			elements[i] = hiddenName
		}
	}
	rest := strings.Join(elements, "/")
	if found, err = r.detectIn(rest); found {
		return hiddenName, err
	}
	return rest, err
}

// detectIn reports whether the detector finds a value in a text. A nil refusal finds none.
func (r *refusal) detectIn(text string) (bool, error) {
	if r == nil || r.detector == nil {
		return false, nil
	}
	d := r.detector()
	_, err := io.WriteString(d, text)
	return d.Found(), err
}
