//go:build unix

package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"prdrunner/checkpoint/workspace"
)

// TestGitFilesEndlessRules: git reads its rules whole, and says only that its
// memory is at an end.
func TestGitFilesEndlessRules(t *testing.T) {
	t.Parallel()
	root := repository(t)
	write(t, root, "sub/.gitignore", "")
	if err := os.Truncate(filepath.Join(root, "sub", ".gitignore"), 1<<40); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	// A git that passes over such a file lists what is there.
	_, err := open(t, root).Files(t.Context())
	var state *workspace.GitStateError
	if err != nil && (!errors.As(err, &state) || state.Remedy == "" || !strings.Contains(err.Error(), "sub/.gitignore is longer than 100 MiB")) {
		t.Errorf("got error %v", err)
	}
}

// TestGitFilesNamedPipe: git waits for the writer of a pipe in the place of its
// rules, and nobody would know why.
func TestGitFilesNamedPipe(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{".gitignore": "", "sub/.gitignore": "", "a/b/.gitignore": "a/b", "a/.gitignore": "a/b/c"} {
		t.Run(name+" from "+dir, func(t *testing.T) {
			t.Parallel()
			root := repository(t)
			write(t, root, "a/b/c/x", "x")
			name := filepath.Join(root, filepath.FromSlash(name))
			if err := errors.Join(os.RemoveAll(name), syscall.Mkfifo(name, 0o600)); err != nil {
				t.Fatal(err)
			}
			g := open(t, filepath.Join(root, filepath.FromSlash(dir)))
			_, err := g.Files(t.Context())
			var state *workspace.GitStateError
			if !errors.As(err, &state) || state.Remedy == "" || !strings.Contains(err.Error(), ".gitignore is a named pipe") {
				t.Errorf("got error %v", err)
			}
		})
	}
}
