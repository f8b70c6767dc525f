package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/state"
)

// in returns the sources of a workspace that holds the given files.
func in(t *testing.T, files map[string]string, environ ...string) Sources {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Sources{Workspace: dir, Environ: environ, Display: filepath.Base, Read: os.ReadFile}
}

func TestDefaultPolicyIsTheStores(t *testing.T) {
	t.Parallel()
	cfg, err := Load(in(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	got, want := cfg.Policy(), checkpoint.DefaultPolicy()
	for _, trigger := range []state.Trigger{
		state.TriggerStart, state.TriggerPhaseTransition, state.TriggerBatchComplete,
		state.TriggerWorkstreamComplete, state.TriggerGatePassed, state.TriggerConflictStart,
		state.TriggerConflictResolved, state.TriggerUserInterrupt, state.TriggerSessionEnd,
		state.TriggerManual, state.TriggerFailure, state.TriggerPause,
		state.TriggerComplete, state.TriggerPreRollback,
	} {
		// What is not listed is on.
		on, listed := want.Triggers[trigger]
		if gotOn, gotListed := got.Triggers[trigger]; (gotOn || !gotListed) != (on || !listed) {
			t.Errorf("trigger %s is %v", trigger, gotOn)
		}
	}
	got.Triggers, want.Triggers = nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the rest differs (-want +got):\n%s", diff)
	}
}

func TestConfigReachesThePolicy(t *testing.T) {
	t.Parallel()
	cfg, err := Load(in(t, map[string]string{"runner.yaml": `
checkpoint:
  auto_checkpoint: false
  triggers: { conflict_events: false, pause: false }
  retention: { gate_passed: 7, pause: -1, max_age: 1h, failed_max_age: 2h, on_complete: archive }
  storage: { compress: true, max_size_mb: 0 }
  git: { mode: commit }
workspace: { include: [ "src/**", "docs/{a,b}.md" ] }
grace: 3s
`}, "PRDRUNNER_CHECKPOINT_RETENTION_MANUAL=5", "PRDRUNNER_ON_STALE=proceed", "PRDRUNNER_VAR_x=1"))
	if err != nil {
		t.Fatal(err)
	}
	policy := cfg.Policy()
	if policy.Auto || policy.Triggers[state.TriggerConflictStart] || policy.Triggers[state.TriggerConflictResolved] || policy.Triggers[state.TriggerPause] {
		t.Errorf("triggers are on that were switched off: %+v", policy)
	}
	kept := policy.Retention
	if kept.Counts["gate_passed"] != 7 || kept.Counts["manual"] != 5 || kept.Counts["pause"] != -1 || kept.MaxAge != time.Hour || kept.FailedMaxAge != 2*time.Hour || kept.MaxSizeMB != 0 {
		t.Errorf("retention is %+v", kept)
	}
	if policy.OnComplete != checkpoint.ArchiveOnComplete || !policy.Compress {
		t.Errorf("the policy is %+v", policy)
	}
	if include := cfg.Workspace.Include; cfg.Checkpoint.Git.Mode != "commit" || !slices.Equal(include, []string{"src/**", "docs/{a,b}.md"}) {
		t.Errorf("git.mode %s, workspace.include %q", cfg.Checkpoint.Git.Mode, include)
	}
	if cfg.Grace != 3*time.Second || cfg.OnStale != "proceed" {
		t.Errorf("grace %v, on_stale %s", cfg.Grace, cfg.OnStale)
	}
}

// TestFormatsAgree reads the same settings from each format.
func TestFormatsAgree(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"runner.yaml": "parallel: 3\ncheckpoint:\n  enabled: false\n  retention: {manual: 4, max_age: 2h}\nworkspace: {include: []}\n",
		"runner.toml": "parallel = 3\nworkspace.include = []\n[checkpoint]\nenabled = false\nretention = {manual = 4, max_age = '2h'}\n",
		"runner.json": `{"parallel": 3, "checkpoint": {"enabled": false, "retention": {"manual": 4, "max_age": "2h"}}, "workspace": {"include": []}}`,
	}
	want := map[string]any{
		"parallel": 3, "checkpoint.enabled": false, "checkpoint.retention.manual": 4,
		"checkpoint.retention.max_age": 2 * time.Hour, "workspace.include": []string{},
	}
	for name, text := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := in(t, map[string]string{name: text})
			entries, err := from.readFile(filepath.Join(from.Workspace, name))
			if err != nil {
				t.Fatal(err)
			}
			var problems Error
			got := checkEntries(entries, &problems)
			if len(problems.list) > 0 {
				t.Error(&problems)
			}
			if diff := cmp.Diff(want, got.values); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStateDirOfAPRD(t *testing.T) {
	t.Parallel()
	cfg, err := Load(in(t, map[string]string{"runner.yaml": "checkpoint: {storage: {location: 'state/{prd}'}}\n"}))
	if err != nil {
		t.Fatal(err)
	}
	if !cfg.StatePerPRD() || cfg.StateDir("PRD-009", "") != "state/PRD-009" {
		t.Errorf("the state is in %s, per PRD: %v", cfg.StateDir("PRD-009", ""), cfg.StatePerPRD())
	}
}

// TestAmbiguousFiles proves that none of several files is ignored.
func TestAmbiguousFiles(t *testing.T) {
	t.Parallel()
	_, err := Load(in(t, map[string]string{"runner.yaml": "", "runner.json": "{}"}))
	var ambiguous *AmbiguousError
	if !errors.As(err, &ambiguous) || len(ambiguous.Files) != 2 {
		t.Errorf("two files gave %v", err)
	}
}

// FuzzConfigFile proves that no file makes the readers panic.
func FuzzConfigFile(f *testing.F) {
	f.Add("parallel: 3\ncheckpoint: {retention: {manual: -1}}\n")
	f.Add("a: &x {b: 1}\nc: *x\n")
	f.Add("a: &x {b: *x}\n")
	f.Add("[checkpoint]\nenabled = true\n[[x]]\ny.z = 1\n")
	f.Add(`{"checkpoint": {"enabled": [1, {"a": null}]}} x`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, read := range []func([]byte) ([]entry, error){yamlEntries, tomlEntries, jsonEntries} {
			entries, err := read([]byte(text))
			if err == nil {
				checkEntries(entries, &Error{})
			}
		}
	})
}
