package workspace

import (
	"fmt"
	"slices"
	"strings"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/workspace/tree"
)

// checkEntryPath returns an error unless path names something inside the workspace in its
// only valid spelling.
func checkEntryPath(path string) error {
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return fmt.Errorf("%q cannot be a path", path)
	}
	for begin := 0; begin <= len(path); {
		element := path[begin:]
		if slash := strings.IndexByte(element, '/'); slash >= 0 {
			element = element[:slash]
		}
		if element == "" || element == "." || element == ".." {
			return fmt.Errorf("the path %q does not name a file in the workspace", path)
		}
		begin += len(element) + 1
	}
	return nil
}

// check returns an error if the entry is invalid.
func (e *Entry) check() error {
	if err := checkEntryPath(e.Path); err != nil {
		return err
	}
	perm, kind := e.Mode&0o777, e.Mode&^0o777
	switch {
	case kind == ModeDir:
		if e.Size != 0 || e.Digest != "" || e.Blob != "" {
			return fmt.Errorf("%q: a directory has no bytes", e.Path)
		}
		return nil
	case kind != 0 && (kind != ModeSymlink || perm != 0):
		return fmt.Errorf("%q: %o is not a mode", e.Path, e.Mode)
	}
	if e.Size < 0 {
		return fmt.Errorf("%q: %d is not a size", e.Path, e.Size)
	}
	if !tree.IsDigest(e.Digest) {
		return fmt.Errorf("%q: %q is not a digest", e.Path, e.Digest)
	}
	if e.Blob != "" && !e.hasBlobName() {
		return fmt.Errorf("%q: %q is not the name of a blob", e.Path, e.Blob)
	}
	return nil
}

// hasBlobName reports whether Blob can be the name of a blob.
func (e *Entry) hasBlobName() bool { return isBlobName(e.Blob) }

func isBlobName[T string | []byte](name T) bool {
	return (len(name) == 40 || len(name) == 64) && objects.IsHex(name)
}

// checkTree returns an error if a path is a file, or an empty directory, and also has
// files below it. The entries are sorted and their paths unique.
func checkTree(entries []Entry) error {
	checked := map[string]bool{}
	for _, e := range entries {
		for dir := range tree.Parents(e.Path) {
			if checked[dir] {
				break
			}
			checked[dir] = true
			if _, found := slices.BinarySearchFunc(entries, Entry{Path: dir}, byPath); found {
				return fmt.Errorf("%q cannot be beside %q", e.Path, dir)
			}
		}
	}
	return nil
}
