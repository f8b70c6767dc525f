package bundle

import (
	"slices"
	"strings"
)

const (
	maxName    = 1024
	maxElement = 255
)

// checkName accepts relative names whose elements every file system allows: letters,
// digits, and "._%-".
func checkName(name string) error {
	if len(name) > maxName {
		return &NameError{name, "it is longer than 1024 bytes"}
	}
	if name == tableName {
		return &NameError{name, "it is the table's"}
	}
	for element := range strings.SplitSeq(name, "/") {
		switch {
		case element == "":
			return &NameError{name, "it has an empty element"}
		case element == "." || element == "..":
			return &NameError{name, "it has an element " + element}
		case len(element) > maxElement:
			return &NameError{name, "it has an element longer than 255 bytes"}
		case strings.IndexFunc(element, isForbidden) >= 0:
			return &NameError{name, `it has a character that is not one of A-Z a-z 0-9 . _ % - /`}
		}
	}
	return nil
}

func isForbidden(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("._%-", r)
}

// checkNames checks sorted members: no name may occur twice, or be a directory in another
// name.
func checkNames(members []Member) error {
	before := ""
	for _, m := range members {
		if err := checkName(m.Name); err != nil {
			return err
		}
		if m.Name == before {
			return &NameError{m.Name, "it stands twice"}
		}
		if m.Name < before {
			return &NameError{m.Name, "it stands behind " + quoteName(before)}
		}
		for i, c := range m.Name {
			// The check of the previous name covered the common directories.
			if c != '/' || strings.HasPrefix(before, m.Name[:i+1]) {
				continue
			}
			if memberIndex(members, m.Name[:i]) >= 0 {
				return &NameError{m.Name, "it lies in another member"}
			}
		}
		if strings.HasPrefix(m.Name, tableName+"/") {
			return &NameError{m.Name, "it lies in another member"}
		}
		before = m.Name
	}
	return nil
}

// memberIndex returns the index of a member, or -1.
func memberIndex(members []Member, name string) int {
	i, ok := slices.BinarySearchFunc(members, name, func(m Member, name string) int {
		return strings.Compare(m.Name, name)
	})
	if !ok {
		return -1
	}
	return i
}
