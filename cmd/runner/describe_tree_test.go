package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// describeTree describes every file and directory below root, by relative path: the mode,
// the text that also returns, and the size and digest of a file or the target of a link.
func describeTree(root string, also func(fs.FileInfo) string) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		holds := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			holds = fmt.Sprintf("%d bytes %x", len(data), sha256.Sum256(data))
		case info.Mode()&fs.ModeSymlink != 0:
			if holds, err = os.Readlink(path); err != nil {
				return err
			}
		}
		name, err := filepath.Rel(root, path)
		all[name] = fmt.Sprintf("%s %s %s", info.Mode(), also(info), holds)
		return err
	})
	return all, err
}

// treeDiff returns the differences between two results of describeTree, none if they are
// equal.
func treeDiff(before, after map[string]string) []string {
	var what []string
	for path, is := range after {
		if was, had := before[path]; !had {
			what = append(what, path+" is new")
		} else if was != is {
			what = append(what, fmt.Sprintf("%s is %s, and was %s", path, is, was))
		}
	}
	for path := range before {
		if _, has := after[path]; !has {
			what = append(what, path+" is gone")
		}
	}
	slices.Sort(what)
	return what
}

// read returns the content of a file.
func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
