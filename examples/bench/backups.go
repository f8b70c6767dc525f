package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// backups returns the contests of capturing and restoring files.
func backups(n sizes) []contest {
	nothing := func(vault) error { return nil }
	version := 0
	change := func(v vault) error {
		version++
		return n.files.change(v.tree(), n.changed, version)
	}
	first := newBackup(captureFirst, n.moreRounds, n.files)
	for i, k := range first.keepers {
		first.contestants[i].prepare = func(dir string) error { return k.begin(vault(dir)) }
	}
	return []contest{
		first.contest,
		newBackup(captureUnchanged, n.manyRounds, n.files).keptBefore(nothing),
		newBackup(copyUnchanged, n.manyRounds, tree{files: n.files.files, size: n.files.size}).keptBefore(nothing),
		newBackup(captureChanged, n.fewRounds, n.files).keptBefore(change),
		newBackup(restore, n.moreRounds, n.files).keptBefore(vault.empty),
	}
}

// keeper is a program that stores copies of the tree of a vault. Its commands run in the
// vault.
type keeper struct {
	name  string
	begin func(v vault) error // makes an empty repository
	keep  []string            // stores the tree for the first time
	races map[string][]string // its command in each contest that it takes part in
}

func keepers() []keeper {
	build := []string{"runner", "-C", "tree", "build", "PRD-001", "--output", "quiet"}
	create := []string{"runner", "-C", "tree", "checkpoint", "create", "PRD-001"}
	safety := []string{"runner", "-C", "tree", "safety", "create", "files/**", "--type", "file_backup"}
	rollback := []string{"runner", "-C", "tree", "checkpoint", "rollback", "PRD-001", "0", "--yes"}
	backup := []string{"restic", "--repo", "restic", "--quiet", "backup", "--exclude", ".runner", "tree"}
	unpack := []string{"restic", "--repo", "restic", "--quiet", "restore", "latest", "--target", "."}
	git := func(args ...string) []string {
		return append([]string{"git", "--git-dir", "git", "--work-tree", "tree"}, args...)
	}
	add := git("add", "--all")
	self, _ := os.Executable() // without the path, the floor is left out as missing
	copied := []string{self, copyCommand, "tree/files", "copy"}
	return []keeper{
		{
			name: "runner", keep: build,
			begin: func(v vault) error { return v.aside("tree/.runner") },
			races: map[string][]string{captureFirst: build, captureUnchanged: create, captureChanged: create, copyUnchanged: safety, restore: rollback},
		},
		{
			name: "restic", keep: backup,
			begin: func(v vault) error {
				if err := v.aside("restic"); err != nil {
					return err
				}
				return call(string(v), "restic", "--repo", "restic", "--quiet", "init")
			},
			races: map[string][]string{captureFirst: backup, captureUnchanged: backup, captureChanged: backup, restore: unpack},
		},
		{
			name: "git", keep: add, begin: vault.beginGit, // does not take part in captureFirst: git add is slow for large files
			races: map[string][]string{captureUnchanged: git("status", "--porcelain"), copyUnchanged: git("status", "--porcelain"), captureChanged: add},
		},
		{
			name: floorName, keep: []string{self, keepCommand, "tree/files", "copy"},
			begin: func(v vault) error { return v.aside("copy") },
			races: map[string][]string{
				captureFirst:     copied,
				captureUnchanged: {self, againCommand, "tree/files", "copy"},
				restore:          {self, copyCommand, "copy", "tree/files"},
			},
		},
	}
}

// backup is a contest of several keepers on one tree of files.
type backup struct {
	contest
	keepers []keeper // in the order of the contestants
}

func newBackup(name string, rounds int, files tree) backup {
	b := backup{contest: contest{name: name, rounds: rounds}}
	for _, k := range keepers() {
		argv := k.races[name]
		if argv == nil {
			continue
		}
		run, missing := program(argv...)
		b.keepers = append(b.keepers, k)
		b.contestants = append(b.contestants, contestant{name: k.name, missing: missing, command: run, check: func(dir, _ string) error {
			return vault(dir).whole(files)
		}})
	}
	b.shared = func(dir string) error { return vault(dir).fill(files) }
	return b
}

// keptBefore has all contestants store the tree before the contest begins. before changes
// the tree before each run.
func (b backup) keptBefore(before func(v vault) error) contest {
	lay := b.shared
	b.shared = func(dir string) error {
		if err := lay(dir); err != nil {
			return err
		}
		for i, k := range b.keepers {
			if b.contestants[i].missing != "" {
				continue
			}
			if err := k.begin(vault(dir)); err != nil {
				return err
			}
			if err := call(dir, k.keep...); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range b.contestants {
		b.contestants[i].prepare = func(dir string) error { return before(vault(dir)) }
	}
	return b.contest
}

// vault is a directory that holds a tree of files, called tree, and next to it the
// repositories of the programs that store copies of the tree. Runner's state directory
// lies in the tree.
type vault string

func (v vault) tree() string { return filepath.Join(string(v), "tree") }

func (v vault) fill(files tree) error {
	const (
		src    = "pipeline \"PRD-001\" {\n  phase \"all\" {\n    workstream \"nothing\" { command = [\"true\"] }\n  }\n}\n"
		config = "workspace:\n  include: [\"**\"]\ncheckpoint:\n  storage:\n    max_size_mb: 100000\n"
	)
	if err := files.write(filepath.Join(v.tree(), "files")); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(v.tree(), "PRD-001.hcl"), []byte(src), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(v.tree(), "runner.yaml"), []byte(config), 0o644)
}

// beginGit makes a repository that ignores Runner's state directory.
func (v vault) beginGit() error {
	if err := v.aside("git"); err != nil {
		return err
	}
	if err := call(string(v), "git", "init", "--quiet", "--bare", "git"); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(string(v), "git", "info", "exclude"), []byte(".runner\n"), 0o644)
}

// aside renames a file or directory of the vault, if it exists, so that its name is free.
// Removing it would slow down the next run.
func (v vault) aside(name string) error {
	if _, err := os.Lstat(filepath.Join(string(v), name)); err != nil {
		return nil
	}
	trash, err := os.MkdirTemp(string(v), "aside")
	if err != nil {
		return err
	}
	return os.Rename(filepath.Join(string(v), name), filepath.Join(trash, filepath.Base(name)))
}

// empty takes all files out of the tree.
func (v vault) empty() error { return v.aside("tree/files") }

// whole returns an error unless all files are in the tree.
func (v vault) whole(files tree) error {
	want, got := files.files, 0
	if files.big > 0 {
		want++
	}
	err := filepath.WalkDir(filepath.Join(v.tree(), "files"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			got++
		}
		return err
	})
	if err == nil && got != want {
		err = fmt.Errorf("%d of %d files are there", got, want)
	}
	return err
}
