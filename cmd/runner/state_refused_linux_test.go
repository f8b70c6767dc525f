package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAnUnsafeStateDirectoryIsRefused makes the state directory unsafe: a link, owned by
// another user, or writable for everybody. Every command must refuse the directory,
// change nothing, and name a command that makes the directory safe. After that command, a
// build must work.
func TestAnUnsafeStateDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		make   func(t *testing.T, dir string)
		remedy string // pattern that finds the command in the error message
		says   string // part of the error message
	}{
		"a link": {func(t *testing.T, dir string) {
			t.Helper()
			done(t, os.Rename(dir, dir+".real"))
			done(t, os.Symlink(dir+".real", dir))
		}, "`(readlink -f .*)`", "set checkpoint.storage.location to"},
		"of another user": {func(t *testing.T, dir string) {
			t.Helper()
			if os.Geteuid() != 0 {
				skipUnlessCI(t, "giving a directory away needs root")
			}
			done(t, os.Chown(dir, 65534, -1))
		}, `(chown -R .*) makes it yours`, "belongs to another user"},
		"open to everybody": {func(t *testing.T, dir string) {
			t.Helper()
			done(t, os.Chmod(dir, 0o777)) //nolint:gosec // it is refused for that
		}, `(chmod o-w .*)`, "everybody may write to it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("PRD-001.hcl", `pipeline "PRD-001" {
  phase "one" {
    workstream "A" { script = "test -e ok" }
  }
}`)
			p.run(1, "build", "PRD-001")
			tt.make(t, filepath.Join(p.ws, ".runner"))
			was := p.describeTree()
			var said string
			for _, args := range [][]string{
				{"build", "PRD-001", "--resume"}, {"plan", "PRD-001", "--resume"}, {"status", "PRD-001"}, {"status"}, {"logs", "PRD-001", "A"}, {"abandon", "PRD-001", "--yes"},
				{"checkpoint", "list", "PRD-001"}, {"checkpoint", "create", "PRD-001"}, {"checkpoint", "rollback", "PRD-001", "latest", "--yes"}, {"checkpoint", "prune", "--yes"},
				{"checkpoint", "export", "PRD-001", "-o", "it.tar"}, {"approve", "PRD-001"}, {"pause", "PRD-001"},
			} {
				said = p.run(exitDamaged, args...)
				if !strings.Contains(said, tt.says) {
					t.Errorf("%v does not say %q:\n%s", args, tt.says, said)
				}
			}
			if now := p.describeTree(); !maps.Equal(was, now) {
				t.Errorf("the commands changed files: %s", tree(now).diff(tree(was)))
			}
			command := regexp.MustCompile(tt.remedy).FindStringSubmatch(said)
			if command == nil {
				t.Fatalf("the error message names no command:\n%s", said)
			}
			out, err := p.command("sh", "-c", command[1]).CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", command[1], err, out)
			}
			if name == "a link" {
				p.environ = append(p.environ, "PRDRUNNER_CHECKPOINT_STORAGE_LOCATION="+strings.TrimSpace(string(out)))
			}
			p.write("ok", "")
			p.run(0, "build", "PRD-001", "--resume")
		})
	}
}

// done ends the test if err is not nil.
func done(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
