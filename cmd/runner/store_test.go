package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/load"
)

// testEnvironment returns an environment whose working directory is new and holds these
// files.
func testEnvironment(t *testing.T, files map[string]string, environ ...string) *cli.Environment {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &cli.Environment{
		CommandLine: advice.CommandLine{Workdir: dir}, Environ: environ, Now: time.Now,
		IsTerminal: func(any) bool { return false },
	}
}

func TestStateDirectoryOfAPRD(t *testing.T) {
	t.Parallel()
	env := testEnvironment(t, map[string]string{"runner.yaml": "checkpoint: {storage: {location: 'state/{prd}'}}\n"})
	cfg, err := env.LoadConfig()
	if err != nil {
		t.Fatal(err)
	}
	store, err := load.OpenStore(env, cfg, load.PipelineRef{PRD: "PRD-009"})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(env.Workdir, "state", "PRD-009"); store.Dir() != want {
		t.Errorf("the state is in %s instead of %s", store.Dir(), want)
	}
	if _, err := load.OpenStore(env, cfg, load.PipelineRef{}); exitCode(err) != exitUsage {
		t.Errorf("without a PRD: %v", err)
	}
}
