package main

import (
	"crypto/sha512"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestALibraryThatGrowsIsRefused adds much to the library of examples/workflows/zustand, which
// a gate compares with its size in the last complete session.
func TestALibraryThatGrowsIsRefused(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), copyExample(t, "workflows/zustand")
	runExample(t, binary, dir, 0, "build PRD-102")
	noise := fmt.Sprintf("%x", sha512.Sum512([]byte("noise")))
	for range 4 {
		noise += fmt.Sprintf("%x", sha512.Sum512([]byte(noise))) // it hardly shrinks when it is compressed
	}
	replaceInFile(t, filepath.Join(dir, "src", "shallow.sh"), "# Comparing lists of words.", "shallow_noise="+noise)
	expect(t, runExample(t, binary, dir, 1, "build PRD-102 --resume"), "growth (size) failed", `✓ strict["noglob"]`)
}

// TestAVersionIsPublishedOnce changes the library of examples/workflows/zustand after its
// release. The changed library must not be published as the same version, but as the next one.
func TestAVersionIsPublishedOnce(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), copyExample(t, "workflows/zustand")
	release := func(exit int) string {
		runExample(t, binary, dir, 3, "build PRD-103 --resume=auto")
		runExample(t, binary, dir, 0, "approve PRD-103")
		return runExample(t, binary, dir, exit, "build PRD-103 --resume")
	}
	release(0)
	published := workflowRun{workflow: workflow{makes: []string{"registry/1.4.0"}}, t: t, dir: dir}
	first := published.madeFiles()

	replaceInFile(t, filepath.Join(dir, "src", "vanilla.sh"), "nobody has set", "no one has set")
	expect(t, release(1), "version 1.4.0 is published already; give package.yaml another one")

	replaceInFile(t, filepath.Join(dir, "package.yaml"), "1.4.0", "1.5.0")
	expect(t, release(0), "PRD-103 complete")
	if diff := diffMade(published.madeFiles(), first); diff != "" {
		t.Errorf("version 1.4.0 has changed: %s", diff)
	}
	next, err := os.ReadFile(filepath.Join(dir, "registry", "1.5.0", "cjs", "vanilla.sh"))
	if err != nil || !strings.Contains(string(next), "no one has set") {
		t.Errorf("version 1.5.0 is without the change: %v\n%s", err, next)
	}
}

// replaceInFile replaces a text that a file must contain.
func replaceInFile(t *testing.T, path, text, by string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), text) {
		t.Fatalf("%s does not contain %q", path, text)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), text, by)), 0o644); err != nil {
		t.Fatal(err)
	}
}
