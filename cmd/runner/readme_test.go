package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestReadmeCommandsWork runs the commands in chapters of README.md as a reader would
// copy them, in a directory that is empty at first. If a chapter shows a pipeline, the
// test saves the pipeline under its name first. A command must have the exit code that
// its comment names, else 0.
func TestReadmeCommandsWork(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a POSIX shell")
	}
	for _, chapters := range [][]string{{"Install"}, {"A pipeline"}} {
		t.Run(chapters[0], func(t *testing.T) {
			t.Parallel()
			dir, home := t.TempDir(), t.TempDir()
			for _, chapter := range chapters {
				text := readmeChapter(t, chapter)
				if pipeline := regexp.MustCompile("(?s)\n```hcl\n(pipeline \"(.+?)\".*?)```\n").FindStringSubmatch(text); pipeline != nil {
					if err := os.WriteFile(filepath.Join(dir, pipeline[2]+".hcl"), []byte(pipeline[1]), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				commands := regexp.MustCompile(`(?m)^ {4}((?:runner|mkdir|echo) .*)$`).FindAllStringSubmatch(text, -1)
				if len(commands) < 3 {
					t.Fatalf("found only %d commands in the chapter %q", len(commands), chapter)
				}
				for _, command := range commands {
					runReadmeCommand(t, dir, home, command[1])
				}
			}
		})
	}
}

// runReadmeCommand runs one line of README.md in a shell without a terminal, and checks
// its exit code.
func runReadmeCommand(t *testing.T, dir, home, line string) {
	t.Helper()
	out, code := runInShell(t, line, dir, home)
	if want := exitCodeOf(line); code != want {
		t.Fatalf("%s\nexit code %d, want %d\n%s", line, code, want, out)
	}
	if strings.Contains(out, "Warning: Inputs that match nothing") {
		t.Errorf("%s\nthe pipeline names files that README.md does not write:\n%s", line, out)
	}
}

// readmeChapter returns the text of a chapter of README.md.
func readmeChapter(t *testing.T, title string) string {
	t.Helper()
	_, text, found := strings.Cut(string(readReadme(t)), "\n## "+title+"\n")
	if !found {
		t.Fatalf("README.md has no chapter %q", title)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// TestReadmeLinks: each file that README.md links to exists.
func TestReadmeLinks(t *testing.T) {
	t.Parallel()
	links := regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(string(readReadme(t)), -1)
	if len(links) < 15 {
		t.Fatalf("found only %d links", len(links))
	}
	for _, link := range links {
		if _, err := os.Stat(filepath.Join("../..", filepath.FromSlash(link[1]))); err != nil {
			t.Error(err)
		}
	}
}
