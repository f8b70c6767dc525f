package git_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"prdrunner/checkpoint/workspace/git"
)

// benchFiles is a source tree of 5,000 files of 20 KB, half of it repetitive.
func benchFiles() map[string]string {
	source := rand.New(rand.NewPCG(1, 2))
	files := make(map[string]string, 5000)
	for i := range 5000 {
		var content strings.Builder
		for content.Len() < 20<<10 {
			fmt.Fprintf(&content, "line %d of file %d: %x\n", content.Len(), i, source.Uint64())
		}
		files[fmt.Sprintf("dir%02d/file%04d.go", i%50, i)] = content.String()
	}
	return files
}

// BenchmarkGit measures the cost of a checkpoint in a tree of 5,000 files.
func BenchmarkGit(b *testing.B) {
	dir := repository(b)
	files := benchFiles()
	for path, content := range files {
		write(b, dir, path, content)
	}
	g, c := openCounted(b, dir)
	counted := func(name string, f func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			started := c.started.Load()
			for b.Loop() {
				f(b)
			}
			b.ReportMetric(float64(c.started.Load()-started)/float64(b.N), "processes/op")
		})
	}
	counted("Files", func(b *testing.B) {
		if _, err := g.Files(b.Context()); err != nil {
			b.Fatal(err)
		}
	})
	var last string
	b.Run("first commit", func(b *testing.B) {
		started := c.started.Load()
		for i := range b.N {
			w := begin(b, g, fmt.Sprint("first", i), "", "")
			for path, content := range files {
				file(b, w, path, 0o100644, content+fmt.Sprint(i))
			}
			last = commit(b, w)
		}
		b.ReportMetric(float64(c.started.Load()-started)/float64(b.N), "processes/op")
	})
	n := 0
	counted("three more files", func(b *testing.B) { n++; threeMore(b, g, last, n) })
}

// threeMore makes a commit with three more files, based on another commit.
func threeMore(b *testing.B, g *git.Repository, last string, n int) {
	b.Helper()
	w := begin(b, g, fmt.Sprint("more", n), last, "")
	for i := range 3 {
		file(b, w, fmt.Sprintf("dir00/more%d.go", i), 0o100644, strings.Repeat(fmt.Sprint(n, i, "\n"), 4000))
	}
	commit(b, w)
}
