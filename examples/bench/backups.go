package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// backups are the contests of keeping files, and of putting them back.
func backups(n sizes) []contest {
	nothing := func(vault) error { return nil }
	version := 0
	change := func(v vault) error {
		version++
		return n.files.change(v.tree(), n.changed, version)
	}
	first := newBackup(captureFirst, n, func(k keeper) []string { return k.first })
	for i, k := range keepers() {
		first.contestants[i].prepare = func(dir string) error { return k.begin(vault(dir)) }
	}
	return []contest{
		first,
		keptBefore(newBackup(captureUnchanged, n, func(k keeper) []string { return k.unchanged }), nothing),
		keptBefore(newBackup(captureChanged, n, func(k keeper) []string { return k.changed }), change),
		keptBefore(newBackup(restore, n, func(k keeper) []string { return k.back }), vault.empty),
	}
}

// keeper is a program that keeps the tree of a vault. Its commands run in the vault.
type keeper struct {
	name      string
	begin     func(v vault) error // makes its repository, with nothing in it
	first     []string            // keeps the tree for the first time
	unchanged []string            // finds that nothing has changed since
	changed   []string            // keeps what has changed since
	back      []string            // puts the tree back
}

func keepers() []keeper {
	create := []string{"runner", "-C", "tree", "checkpoint", "create", "PRD-001"}
	backup := []string{"restic", "--repo", "restic", "--quiet", "backup", "--exclude", ".runner", "tree"}
	git := func(args ...string) []string {
		return append([]string{"git", "--git-dir", "git", "--work-tree", "tree"}, args...)
	}
	return []keeper{
		{
			name:      "runner",
			begin:     func(v vault) error { return v.aside("tree/.runner") },
			first:     []string{"runner", "-C", "tree", "build", "PRD-001", "--output", "quiet"},
			unchanged: create, changed: create,
			back: []string{"runner", "-C", "tree", "checkpoint", "rollback", "PRD-001", "0", "--yes"},
		},
		{
			name: "restic",
			begin: func(v vault) error {
				if err := v.aside("restic"); err != nil {
					return err
				}
				return call(string(v), "restic", "--repo", "restic", "--quiet", "init")
			},
			first: backup, unchanged: backup, changed: backup,
			back: []string{"restic", "--repo", "restic", "--quiet", "restore", "latest", "--target", "."},
		},
		{
			name: "git",
			begin: func(v vault) error {
				if err := v.aside("git"); err != nil {
					return err
				}
				if err := call(string(v), "git", "init", "--quiet", "--bare", "git"); err != nil {
					return err
				}
				return os.WriteFile(filepath.Join(string(v), "git", "info", "exclude"), []byte(".runner\n"), 0o644)
			},
			first: git("add", "--all"), unchanged: git("status", "--porcelain"), changed: git("add", "--all"),
			back: git("checkout-index", "--all", "--force"),
		},
	}
}

// newBackup is a contest of keepers, on one tree of files.
func newBackup(name string, n sizes, argv func(keeper) []string) contest {
	c := contest{name: name, rounds: n.rounds}
	for _, k := range keepers() {
		run, missing := program(argv(k)...)
		c.contestants = append(c.contestants, contestant{name: k.name, missing: missing, command: run, check: func(dir, _ string) error {
			return vault(dir).whole(n.files)
		}})
	}
	c.shared = func(dir string) error { return vault(dir).fill(n.files) }
	return c
}

// keptBefore has all have kept the tree before the contest begins, and does
// something to it before each run.
func keptBefore(c contest, before func(v vault) error) contest {
	lay := c.shared
	c.shared = func(dir string) error {
		if err := lay(dir); err != nil {
			return err
		}
		for i, k := range keepers() {
			if c.contestants[i].missing != "" {
				continue
			}
			if err := k.begin(vault(dir)); err != nil {
				return err
			}
			if err := call(dir, k.first...); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range c.contestants {
		c.contestants[i].prepare = func(dir string) error { return before(vault(dir)) }
	}
	return c
}

// vault is a directory with a tree of files in it, called tree, and repositories of
// programs that keep it beside that; Runner's lies in the tree.
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

// aside moves a file of the vault out of the way, if it is there.
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

// empty leaves none of the tree's files.
func (v vault) empty() error { return v.aside("tree/files") }

// whole is nil when all files are in the tree.
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
