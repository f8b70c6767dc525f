package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestASampleThatIsMendedIsTakenIn mends the sample that examples/workflows/nextflow leaves out
// because its step fails, which is allowed. The next build must take it in, and run nothing
// again that has nothing to do with it. Then the test damages all samples of a place.
func TestASampleThatIsMendedIsTakenIn(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), copyExample(t, "workflows/nextflow")
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	cut := func(name string, bytes int) {
		if err := os.WriteFile(filepath.Join(dir, "reads", name), []byte(read("reads/" + name)[:bytes]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, runExample(t, binary, dir, 0, "build PRD-105"), `clean["soil_2"] failed, which is allowed`, `✓ describe["soil.1"]`, "PRD-105 complete")

	damaged := read("reads/soil_2.fastq")
	cut("soil_2.fastq", strings.LastIndex(damaged, "@")) // without the read that is cut off
	out := runExample(t, binary, dir, 0, "build PRD-105 --resume")
	expect(t, out, `✓ clean["soil_2"]`, `✓ pool["soil"]`)
	for _, text := range []string{`✓ clean["gut_1"]`, `✓ pool["gut"]`, "allowed"} {
		if strings.Contains(out, text) {
			t.Errorf("a good sample or a place without the mended one ran again, or that one failed (%s):\n%s", text, out)
		}
	}
	if got := read("results/left-out.txt"); got != "" {
		t.Errorf("left out is %q", got)
	}

	cut("soil_1.fastq", 50)
	cut("soil_2.fastq", 50)
	out = runExample(t, binary, dir, 0, "build PRD-105 --resume")
	expect(t, out, `pool["soil"] skipped`, "PRD-105 complete")
	if got := read("results/left-out.txt"); got != "soil_1\nsoil_2\n" {
		t.Errorf("left out is %q", got)
	}
	if got := read("results/contigs.tsv"); strings.Contains(got, "soil") {
		t.Errorf("the table has a place without samples:\n%s", got)
	}
}
