package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var (
	treeFiles = flag.Int("tree.files", 200, "the number of files that TestALargeAndOddTree creates, captures and restores")
	treeDepth = flag.Int("tree.depth", 60, "the number of directories above the deepest file of TestALargeAndOddTree")
	lineMiB   = flag.Int("line.mib", 64, "the length of the line in TestALineWithoutAnEnd, in MiB")
)

// largePipeline copies the files in src to gen, and then fails unless there is a file ok.
const largePipeline = `
pipeline "PRD-001" {
  phase "one" {
    workstream "make" {
      inputs    = ["src/**"]
      artifacts = ["gen/**"]
      command   = ["cp", "-a", "src", "gen"]
      gate "there" { command = ["test", "-d", "gen"] }
    }
  }
  phase "two" {
    workstream "mend" {
      depends_on = [workstream.make]
      command    = ["test", "-e", "ok"]
    }
  }
}
`

// oddNames returns odd, legal file names. One is in the deepest directory.
func oddNames() []string {
	return []string{
		"new\nline", "\n", "not\xffUTF-8", "\xc3(", " ", "-rf", "--", "a\\b", `"quoted"`, "'", "$(exit 9)", "*", "[a]", "{a,b}", "#", "!x", "a:b", "tab\tbed", "\x01\x7f", "\x1b[31m",
		"\u202etxt", "é", "e\u0301", "A", "a", "HEAD", ".gitkeep", strings.Repeat("n", 255), strings.Repeat("d/", *treeDepth) + "deep", "con", "new\nline\xff/in\nside",
	}
}

// plant makes the tree that largePipeline copies.
func (p *place) plant() {
	p.t.Helper()
	for _, name := range oddNames() {
		name = "src/" + name
		p.write(name, name)
	}
	for i := range *treeFiles {
		p.write(fmt.Sprintf("src/many/%d/%d", i/100, i), strconv.Itoa(i%7))
	}
	if err := os.Symlink("new\nline", filepath.Join(p.ws, "src", "li\nnk\xff")); err != nil {
		p.t.Fatal(err)
	}
}

// sums returns the digests of the files and the targets of the links below a directory of
// the workspace, by path.
func (p *place) sums(dir string) map[string]string {
	p.t.Helper()
	all := map[string]string{}
	root := filepath.Join(p.ws, dir)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if e.Type() == fs.ModeSymlink {
			all[name], err = os.Readlink(path)
			return err
		}
		data, err := os.ReadFile(path)
		all[name] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// TestALargeAndOddTree builds, restores, rolls back, exports and imports a tree with many
// files, a path of many directories, and names with newlines and invalid UTF-8. After
// each step, every file must have its name and its content.
func TestALargeAndOddTree(t *testing.T) {
	t.Parallel()
	for name, git := range map[string]bool{"with git": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("PRD-001.hcl", largePipeline)
			p.write("runner.yaml", "workspace:\n  include: [\"src/**\"]\n")
			p.plant()
			if git {
				p.git("init", "-q")
				p.git("add", "src/many", "src/new\nline")
				p.git("commit", "-q", "-m", "one")
			}
			want := p.sums("src")
			if len(want) != *treeFiles+len(oddNames())+1 {
				t.Fatalf("%d files were planted", len(want))
			}
			same := func(when, dir string, in *place) {
				t.Helper()
				if what := treeDiff(want, in.sums(dir)); len(what) > 0 {
					t.Errorf("after the tree was %s, files of %s differ: %d, such as %.500q", when, dir, len(what), what[0])
				}
			}
			p.run(1, "build", "PRD-001")
			same("made", "gen", p)

			p.remove("gen")
			p.run(1, "build", "PRD-001", "--resume", "--on-conflict", "restore")
			same("restored", "gen", p)

			p.remove("src")
			undo := p.undoOf(p.run(0, "checkpoint", "rollback", "PRD-001", "0", "--yes"))
			same("rolled back", "src", p)
			if left, err := filepath.Glob(filepath.Join(p.ws, "gen", "*")); err != nil || len(left) > 0 {
				t.Errorf("after the rollback, gen still has %d files: %v", len(left), err)
			}
			p.run(0, "checkpoint", "rollback", "PRD-001", undo, "--yes", "--force")
			same("rolled forward again", "gen", p)
			if p.exists("src/many") {
				t.Error("after the rollback was undone, src/many exists, which was removed before the rollback")
			}
			p.run(0, "checkpoint", "rollback", "PRD-001", "0", "--yes", "--force")
			p.run(1, "build", "PRD-001", "--resume")
			p.run(0, "checkpoint", "validate", "PRD-001", "--deep")
			q := waysToMove()["by an export"](p)
			same("imported", "src", q)
			same("imported", "gen", q)
			q.write("ok", "")
			if out := q.run(0, "build", "PRD-001", "--resume"); !strings.Contains(out, "make ✅") || strings.Contains(out, "✓ make") {
				t.Errorf("after the import, a completed workstream runs again:\n%s", out)
			}
		})
	}
}

// TestALineWithoutAnEnd runs a workstream that prints one line longer than any buffer,
// with and without a value to mask. The workstream must not block, the log must have
// every byte, and commands that show the line must bound their memory and their output.
func TestALineWithoutAnEnd(t *testing.T) {
	t.Parallel()
	const enough = 128 << 20 // bytes of memory
	for name, secret := range map[string]string{"as it is": "", "masked": "hunter2-Zq9x"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			env := ""
			if secret != "" {
				env = "env = { SECRET = var.secret }"
			}
			p.write("PRD-001.hcl", fmt.Sprintf(`
variable "secret" {
  default   = "unused-Zq9x"
  sensitive = %v
}
pipeline "PRD-001" {
  phase "one" {
    workstream "print" {
      %s
      script = "printf \"$SECRET\"; head -c %d /dev/zero | tr '\\0' x; printf \"$SECRET\"; exit 1"
    }
  }
}
`, secret != "", env, *lineMiB<<20))
			p.environ = append(p.environ, "PRDRUNNER_VAR_secret="+secret, "SECRET=")
			used := func(want int, discard bool, args ...string) string {
				t.Helper()
				cmd := p.command("runner", args...)
				var out strings.Builder
				if !discard {
					cmd.Stdout, cmd.Stderr = &out, &out
				}
				memory := measured(t, cmd)
				_ = cmd.Run() // the exit code is checked below
				if code := cmd.ProcessState.ExitCode(); code != want {
					t.Fatalf("runner %q: exit code %d\n%.2000s", args, code, out.String())
				}
				t.Logf("runner %q: %d MiB", args, memory()>>20)
				if memory() > enough {
					t.Errorf("runner %q used %d MiB", args, memory()>>20)
				}
				if out.Len() > 64<<10 {
					t.Errorf("runner %q shows %d bytes: %.200s", args, out.Len(), out.String())
				}
				return out.String()
			}
			used(1, false, "build", "PRD-001")
			info, err := os.Stat(filepath.Join(p.ws, ".runner", "PRD-001", "logs", "print.1.log"))
			masked := 2 * len("***")
			if secret == "" {
				masked = 0
			}
			if err != nil || info.Size() != int64(*lineMiB<<20+masked) {
				t.Errorf("the log is %v: %v", info, err)
			}
			used(0, false, "status", "PRD-001")
			used(0, false, "status", "PRD-001", "--json")
			used(0, true, "logs", "PRD-001")
			used(0, false, "checkpoint", "show", "PRD-001")
			used(1, false, "build", "PRD-001", "--resume", "--output", "json")
		})
	}
}
