package git_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/workspace/git"
)

func TestOpenGitOutsideAWorkTree(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	bare := t.TempDir()
	user(t, bare, "init", "-q", "--bare")
	for name, dir := range map[string]string{
		"no repository": t.TempDir(), "bare": bare, "inside .git": filepath.Join(dir, ".git", "refs"),
	} {
		g, err := git.Open(t.Context(), &commander{env: userEnv()}, dir)
		if g != nil || err != nil {
			t.Errorf("%s: %v, %v", name, g, err)
		}
	}
	g, err := git.Open(t.Context(), failing{exec.ErrNotFound}, t.TempDir())
	if g != nil || err != nil {
		t.Errorf("no git program, and no need for one: %v, %v", g, err)
	}
	for _, in := range []string{dir, filepath.Join(dir, "sub")} {
		var state *git.StateError
		if g, err := git.Open(t.Context(), failing{exec.ErrNotFound}, in); g != nil || !errors.As(err, &state) {
			t.Errorf("no git program for the work tree of %s: %v, %v", in, g, err)
		}
	}
	write(t, dir, ".git/config", "[core\n")
	if g, err := git.Open(t.Context(), &commander{env: userEnv()}, dir); g != nil || err == nil {
		t.Errorf("a broken repository counts as none: %v, %v", g, err)
	}
}

// TestFiles lists the files of an index and a work tree that differ in every way.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	user(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", repository(t), "module")
	write(t, dir, "sub/gone", "x")
	user(t, dir, "add", ".")
	user(t, dir, "commit", "-q", "-m", "more")
	conflict(t, dir)
	user(t, dir, "init", "-q", "sub/nested")
	user(t, dir, "config", "core.quotePath", "true")
	if err := os.Remove(filepath.Join(dir, "sub", "gone")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "sub/x.log", "ignored")
	names := []string{"ünder", "sp ace"}
	if runtime.GOOS != "windows" {
		names = append(names, "tab\tnew\nline\"", "bad\xff", "? question", "dir\n/x")
	}
	for _, name := range names {
		write(t, dir, "sub/"+name, "x")
	}
	blob := func(path string) string { return strings.TrimSpace(user(t, dir, "rev-parse", "HEAD:"+path)) }
	g, c := openCounted(t, dir)
	files, err := g.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := c.started.Load(); n != 2 {
		t.Errorf("opening and listing took %d processes, want 2", n)
	}
	want := []git.File{
		{Path: ".gitignore", Tracked: true, Mode: 0o100644, Blob: blob(".gitignore")},
		{Path: ".gitmodules", Tracked: true, Mode: 0o100644, Blob: blob(".gitmodules")},
		{Path: "a.txt", Tracked: true, Mode: 0o100644}, // in conflict
		{Path: "module", Tracked: true, Mode: git.ModeGitlink, Blob: blob("module"), Gitlink: true},
		{Path: "sub/b.txt", Tracked: true, Mode: 0o100644, Blob: blob("sub/b.txt")},
		{Path: "sub/gone", Tracked: true, Mode: 0o100644, Blob: blob("sub/gone")},
		{Path: "sub/nested", Gitlink: true},
	}
	for _, name := range names {
		want = append(want, git.File{Path: "sub/" + name})
	}
	if diff := cmp.Diff(sorted(want), sorted(files)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	files, err = open(t, filepath.Join(dir, "sub")).Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want = slices.DeleteFunc(want, func(f git.File) bool { return !strings.HasPrefix(f.Path, "sub/") })
	for i := range want {
		want[i].Path = strings.TrimPrefix(want[i].Path, "sub/")
	}
	if diff := cmp.Diff(sorted(want), sorted(files)); diff != "" {
		t.Errorf("in the subdirectory (-want +got):\n%s", diff)
	}
}

func sorted(files []git.File) []git.File {
	return slices.SortedFunc(slices.Values(files), func(a, b git.File) int {
		return strings.Compare(a.Path, b.Path)
	})
}

func TestFilesOfASparseCheckout(t *testing.T) {
	t.Parallel()
	for _, index := range []string{"--sparse-index", "--no-sparse-index"} {
		dir := repository(t)
		write(t, dir, "other/deep/c.txt", "left out")
		user(t, dir, "add", ".")
		user(t, dir, "commit", "-q", "-m", "other")
		user(t, dir, "sparse-checkout", "set", "--cone", index, "sub")
		files, err := open(t, dir).Files(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sparse := map[string]bool{}
		for _, f := range files {
			sparse[f.Path] = f.Sparse
		}
		want := map[string]bool{".gitignore": false, "a.txt": false, "sub/b.txt": false, "other/deep/c.txt": true}
		if diff := cmp.Diff(want, sparse); diff != "" {
			t.Errorf("%s (-want +got):\n%s", index, diff)
		}
	}
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			dir := repository(t, "--object-format="+format)
			g, c := openCounted(t, dir)
			contents := []string{"", "\n", "plain\n", "no end", strings.Repeat("\x00\xffbig", 5<<20), "last"}
			w := begin(t, g, "blobs", "", "")
			var names []string
			for i, content := range contents {
				file(t, w, fmt.Sprint(i), 0o100644, content)
				h := g.NewBlobHash(int64(len(content)))
				io.WriteString(h, content)
				names = append(names, fmt.Sprintf("%x", h.Sum(nil)))
			}
			made := commit(t, w)
			missing := strings.Repeat("0", len(made)-1) + "1"
			has, err := g.HasBlobs(t.Context(), append(slices.Clone(names), missing, made, "HEAD", ""))
			want := map[string]bool{}
			for _, name := range names {
				want[name] = true
			}
			if diff := cmp.Diff(want, has); diff != "" || err != nil {
				t.Errorf("has: %v (-want +got):\n%s", err, diff)
			}
			started := c.started.Load()
			checkBlobs(t, g, names, contents, []string{missing, made, "HEAD", "x\ny"})
			// One process for all blobs, one after each of two objects that are no blobs,
			// one for each OpenBlob.
			if n := c.started.Load() - started; n != 1+2+3 {
				t.Errorf("reading the blobs took %d processes", n)
			}
		})
	}
}

// checkBlobs reads blobs, and between them objects that can't be read.
func checkBlobs(t *testing.T, g *git.Repository, names, contents, bad []string) {
	t.Helper()
	r, err := g.Blobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	for i, name := range names {
		if err := r.Read(bad[i%len(bad)], io.Discard); err == nil {
			t.Errorf("%q was read as a blob", bad[i%len(bad)])
		}
		if err := r.Read(bad[0], io.Discard); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a missing blob: %v", err)
		}
		if err := r.Read(name, writerFunc(func([]byte) (int, error) { return 0, full })); contents[i] != "" && !errors.Is(err, full) {
			t.Errorf("a writer's error: %v", err)
		}
		var got bytes.Buffer
		if err := r.Read(name, &got); err != nil || got.String() != contents[i] {
			t.Errorf("blob %d: %d bytes, %v", i, got.Len(), err)
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	big := 4
	one, err := g.OpenBlob(t.Context(), names[big])
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(one)
	if err != nil || string(got) != contents[big] {
		t.Errorf("open: %d bytes, %v", len(got), err)
	}
	half, err := g.OpenBlob(t.Context(), names[big])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(half, make([]byte, 100)); err != nil {
		t.Error(err)
	}
	if err := errors.Join(one.Close(), half.Close()); err != nil {
		t.Error(err)
	}
	if _, err := g.OpenBlob(t.Context(), bad[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open a missing blob: %v", err)
	}
}

// TestDamagedBlob: reading a damaged blob fails, and the next blob can be read.
func TestDamagedBlob(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	g := open(t, dir)
	one := strings.TrimSpace(user(t, dir, "rev-parse", "HEAD:a.txt"))
	two := strings.TrimSpace(user(t, dir, "rev-parse", "HEAD:sub/b.txt"))
	loose := filepath.Join(dir, ".git", "objects", one[:2], one[2:])
	if err := errors.Join(os.Remove(loose), os.WriteFile(loose, []byte("no zlib"), 0o444)); err != nil {
		t.Fatal(err)
	}
	r, err := g.Blobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Read(one, io.Discard); err == nil || !strings.Contains(err.Error(), one) {
		t.Errorf("a damaged blob: %v", err)
	}
	var got bytes.Buffer
	if err := errors.Join(r.Read(two, &got), r.Close()); err != nil || got.String() != "two\n" {
		t.Errorf("the blob after it: %q, %v", &got, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
