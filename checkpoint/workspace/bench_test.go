//go:build unix

package workspace

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"prdrunner/checkpoint/workspace/statcache"
)

// benchTree fills a directory with 5,000 files of 20 KB and one file of 512 MB, all
// incompressible; with -short with 500 files and one of 16 MB.
func benchTree(b *testing.B, dir string) (bytes int64) {
	b.Helper()
	files, big := 5000, 512<<20
	if testing.Short() {
		files, big = 500, 16<<20
	}
	random := rand.NewChaCha8([32]byte{})
	data := make([]byte, 20<<10)
	for i := range files {
		_, _ = random.Read(data)
		sub := filepath.Join(dir, fmt.Sprintf("d%d", i%10), fmt.Sprintf("e%d", i%100))
		must(b, os.MkdirAll(sub, 0o755))
		must(b, os.WriteFile(filepath.Join(sub, fmt.Sprint(i)), data, 0o644))
	}
	f, err := os.Create(filepath.Join(dir, "big"))
	must(b, err)
	chunk := make([]byte, 1<<20)
	for range big / len(chunk) {
		_, _ = random.Read(chunk)
		_, err = f.Write(chunk)
		must(b, err)
	}
	must(b, f.Close())
	return int64(files*len(data) + big)
}

// places runs a benchmark in both kinds of workspaces: outside of git, and in a work
// tree.
func places(b *testing.B, run func(b *testing.B, w *Workspace, dir string, o CaptureOptions)) {
	o := CaptureOptions{Patterns: []string{"**"}, When: time.Unix(1e9, 0), Ref: "refs/runner/bench"}
	b.Run("outside", func(b *testing.B) {
		w, dir := keeper(b)
		b.SetBytes(benchTree(b, dir))
		run(b, w, dir, o)
	})
	b.Run("git", func(b *testing.B) {
		w, dir := gitKeeper(b, "", GitRef)
		bytes := benchTree(b, dir)
		runGit(b, dir, "add", "d0", "d1", "d2", "d3", "d4")
		runGit(b, dir, "commit", "-q", "-m", "first")
		b.SetBytes(bytes)
		o.Patterns = nil
		run(b, w, dir, o)
	})
}

func BenchmarkCapture(b *testing.B) {
	places(b, func(b *testing.B, w *Workspace, dir string, o CaptureOptions) {
		for b.Loop() {
			b.StopTimer()
			w.cache = statcache.New(nil, "", dir)
			must(b, os.RemoveAll(filepath.Join(dir, ".state", "objects")))
			b.StartTimer()
			_, err := w.Capture(b.Context(), o)
			must(b, err)
		}
	})
}

// BenchmarkKeepSmall keeps artifacts that were just written. The time goes into syncing
// each file and its object.
func BenchmarkKeepSmall(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w, dir := keeper(b)
			must(b, os.MkdirAll(filepath.Join(dir, "gen", "sub"), 0o755))
			paths := make([]string, n)
			for round := 0; b.Loop(); round++ {
				b.StopTimer()
				for i := range paths {
					paths[i] = fmt.Sprintf("gen/sub/%d-%d", round, i)
					must(b, os.WriteFile(filepath.Join(dir, filepath.FromSlash(paths[i])), []byte(paths[i]), 0o644))
				}
				b.StartTimer()
				_, _, err := w.Keep(b.Context(), paths)
				must(b, err)
			}
		})
	}
}

// BenchmarkCaptureUnchanged has all files tracked in git, since git status reads only the
// name of an untracked directory.
func BenchmarkCaptureUnchanged(b *testing.B) {
	places(b, func(b *testing.B, w *Workspace, dir string, o CaptureOptions) {
		if w.Git() != nil {
			runGit(b, dir, "-c", "core.compression=0", "add", "-A")
			runGit(b, dir, "commit", "-q", "-m", "all")
		}
		first, err := w.Capture(b.Context(), o)
		must(b, err)
		o.Last = &first.Capture
		_, err = w.Capture(b.Context(), o)
		must(b, err)
		must(b, w.SaveCache())
		b.Run("capture", func(b *testing.B) {
			for b.Loop() {
				again, err := w.Capture(b.Context(), o)
				must(b, err)
				if again.Changed {
					b.Fatal("changed")
				}
			}
		})
		b.Run("new process", func(b *testing.B) {
			for b.Loop() {
				fresh := open(b, w.o)
				_, err := fresh.Capture(b.Context(), o)
				must(b, err)
			}
		})
		if w.Git() == nil {
			return
		}
		b.Run("git ls-files", func(b *testing.B) {
			for b.Loop() {
				_, err := w.Git().Files(b.Context())
				must(b, err)
			}
		})
		b.Run("git status", func(b *testing.B) {
			for b.Loop() {
				runGit(b, dir, "status", "--porcelain")
			}
		})
	})
}

func BenchmarkRestore(b *testing.B) {
	places(b, func(b *testing.B, w *Workspace, dir string, o CaptureOptions) {
		first, err := w.Capture(b.Context(), o)
		must(b, err)
		target, err := w.Load(b.Context(), first.Listing)
		must(b, err)
		for b.Loop() {
			b.StopTimer()
			for _, e := range target.Entries {
				must(b, os.Remove(filepath.Join(dir, e.Path)))
			}
			now, err := w.Now(b.Context(), o.Patterns)
			must(b, err)
			b.StartTimer()
			_, err = w.Restore(b.Context(), Diff(now, target), RestoreOptions{ID: "x"})
			must(b, err)
		}
	})
}

// BenchmarkLookAgain finds 50,000 small files unchanged since a capture. Like a plan, it
// loads the listing, describes all files, compares both, and describes the same files
// once more.
func BenchmarkLookAgain(b *testing.B) {
	for _, place := range []struct {
		name string
		open func(b *testing.B) (*Workspace, string)
	}{
		{"outside", func(b *testing.B) (*Workspace, string) { return keeper(b) }},
		{"git", func(b *testing.B) (*Workspace, string) { return gitKeeper(b, "", GitRef) }},
	} {
		b.Run(place.name, func(b *testing.B) {
			w, dir := place.open(b)
			for i := range 50_000 {
				put(b, dir, fmt.Sprintf("files/d%d/e%d/%d", i%10, i%100, i), "some")
			}
			o := CaptureOptions{Patterns: []string{"files/**"}, When: time.Unix(1e9, 0), Ref: "refs/runner/bench"}
			if w.Git() != nil {
				runGit(b, dir, "add", "files")
				runGit(b, dir, "commit", "-q", "-m", "all")
			}
			c, err := w.Capture(b.Context(), o)
			must(b, err)
			must(b, w.SaveCache())
			b.ReportAllocs()
			for b.Loop() {
				lookAgain(b, open(b, w.o), c.Listing)
			}
		})
	}
}

func lookAgain(b *testing.B, w *Workspace, listing string) {
	view := w.WithMemo()
	defer view.ListGitAhead(b.Context())()
	was, err := view.Load(b.Context(), listing)
	must(b, err)
	now, err := view.Now(b.Context(), was.Patterns)
	must(b, err)
	paths, err := view.tree.Glob(b.Context(), was.Patterns)
	must(b, err)
	files, err := view.DescribeEach(b.Context(), paths)
	must(b, err)
	if changes := Diff(was, now); len(changes) != 0 || len(files) != 50_000 {
		b.Fatalf("%d files, %d of them changed", len(files), len(changes))
	}
}
