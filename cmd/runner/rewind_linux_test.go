package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestGoingBackRemovesWhatCameLaterAndNothingElse rolls back after files were added,
// edited and removed. The rollback must remove added files (cline/cline 12831: untracked
// files remained), except those that it could not restore: sensitive files and files that
// git ignores, also by a rule that the rollback removes (cline/cline 14367).
func TestGoingBackRemovesWhatCameLaterAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, git := range map[string]bool{"in a git work tree": true, "outside git": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := prepared(t, func(p *place) {
				p.write("runner.yaml", "workspace: { include: ['**/*.txt', '.gitignore'] }\n")
				p.write(".gitignore", "*.log\n")
				p.write("kept.txt", "kept\n")
				p.write("removed.txt", "removed\n")
				p.write("dir/sub/old.txt", "old\n")
				if git {
					p.git("init", "-q")
					p.git("add", ".")
					p.git("commit", "-q", "-m", "one")
				}
				p.failed()
			})
			p.run(0, "checkpoint", "create", "PRD-001", "--reason", "here")

			p.write("later.txt", "later\n")
			p.write("later/deep/er/a.txt", "later\n")
			p.write("dir/sub/new.txt", "later\n")
			p.write("kept.txt", "edited\n")
			p.remove("removed.txt")
			p.remove("dir/sub/old.txt")
			if git {
				p.write("staged.txt", "later\n")
				p.git("add", "staged.txt")
				p.write(".gitignore", "*.log\nscratch/\n") // the rollback removes the new rule
				p.write("scratch/notes.md", "precious\n")
			}
			p.write("ignored.log", "precious\n")
			p.write("later/deep/out.log", "precious\n")
			p.write(".env", "precious\n")
			p.write("later/id_rsa", "precious\n")

			p.run(0, "checkpoint", "rollback", "PRD-001", "latest", "--yes")
			for _, gone := range []string{"later.txt", "later/deep/er", "dir/sub/new.txt", "staged.txt"} {
				if p.exists(gone) {
					t.Errorf("%s is newer than the checkpoint, but still exists", gone)
				}
			}
			for path, want := range map[string]string{
				"kept.txt": "kept\n", "removed.txt": "removed\n", "dir/sub/old.txt": "old\n", ".gitignore": "*.log\n",
				"ignored.log": "precious\n", "later/deep/out.log": "precious\n", ".env": "precious\n", "later/id_rsa": "precious\n",
			} {
				if got, err := os.ReadFile(filepath.Join(p.ws, path)); err != nil || string(got) != want {
					t.Errorf("%s holds %q, %v; want %q", path, got, err, want)
				}
			}
			if git && (!p.exists("scratch/notes.md") || p.read("scratch/notes.md") != "precious\n") {
				t.Error("the rollback removed a file that git ignored before the rollback")
			}
		})
	}
}
