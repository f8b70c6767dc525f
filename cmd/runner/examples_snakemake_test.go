package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestANewSampleRunsItsOwnSteps adds a sample to examples/workflows/snakemake, as the comment
// of its pipeline says. Only the steps of the sample may run, and those that need all samples.
func TestANewSampleRunsItsOwnSteps(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), copyExample(t, "workflows/snakemake")
	runExample(t, binary, dir, 0, "build PRD-104")

	path := filepath.Join(dir, "config.yaml")
	config, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	longer := strings.Replace(string(config), "samples:\n", "samples:\n  C: data/samples/C.fastq\n", 1)
	if err := os.WriteFile(path, []byte(longer), 0o644); err != nil {
		t.Fatal(err)
	}
	out := runExample(t, binary, dir, 0, "build PRD-104 --resume")
	expect(t, out, `✓ map["C"]`, `✓ sort["C"]`, `✓ index["C"]`, "✓ call", "✓ plot")
	if strings.Contains(out, `✓ map["A"]`) || strings.Contains(out, `✓ sort["B"]`) {
		t.Errorf("a sample that was done ran again:\n%s", out)
	}
	calls, err := os.ReadFile(filepath.Join(dir, "calls", "all.vcf"))
	if err != nil {
		t.Fatal(err)
	}
	expect(t, string(calls), "I\t390\t")
}
