//go:build unix

package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkRestic does the same as the other benchmarks with restic, on the same kind of
// tree, for comparison in one run.
func BenchmarkRestic(b *testing.B) {
	if _, err := exec.LookPath("restic"); err != nil {
		b.Skip("restic is not installed")
	}
	tree, repository := b.TempDir(), filepath.Join(b.TempDir(), "repository")
	bytes := benchTree(b, tree)
	restic := func(args ...string) {
		b.Helper()
		cmd := exec.CommandContext(b.Context(), "restic", append([]string{"-q", "--no-cache", "-r", repository}, args...)...)
		cmd.Env = append(os.Environ(), "RESTIC_PASSWORD=benchmark")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("restic %s: %v\n%s", args[0], err, out)
		}
	}
	b.Run("first backup", func(b *testing.B) {
		b.SetBytes(bytes)
		for b.Loop() {
			b.StopTimer()
			must(b, os.RemoveAll(repository))
			restic("init")
			b.StartTimer()
			restic("backup", tree)
		}
	})
	b.Run("unchanged backup", func(b *testing.B) {
		for b.Loop() {
			restic("backup", tree)
		}
	})
	b.Run("restore", func(b *testing.B) {
		b.SetBytes(bytes)
		for b.Loop() {
			b.StopTimer()
			target := b.TempDir()
			b.StartTimer()
			restic("restore", "latest", "--target", target)
		}
	})
}
