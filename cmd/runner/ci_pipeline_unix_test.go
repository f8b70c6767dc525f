//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCIFailsIfAnythingFails runs .ci/pipeline with a go and a runner of the test, which fail at one
// place. The script must say where, and fail.
func TestCIFailsIfAnythingFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ fails, says string }{
		{"", "PRD-900 passed in"},
		{"install", "the programs that the tests use can't be installed"},
		{"go build -o bin/ci/runner ./cmd/runner", "the command does not build"},
		{"go build -C .ci/collector", "the collector that the tests use does not build"},
		{"runner version", "the command does not start"},
		{"runner build .ci/PRD-900.hcl --resume=auto --stream", "exit code 3 of runner build"},
	} {
		t.Run(c.says, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			script := func(name, text string) {
				path := filepath.Join(dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700)); err != nil {
					t.Fatal(err)
				}
			}
			fails := fmt.Sprintf("case \"$(basename $0) $*\" in '%s'*) exit 3;; esac\n", c.fails)
			if c.fails == "" {
				fails = ""
			}
			script("fake/runner", fails+"echo \"runner $*\"\n")
			script("fake/go", fails+"case \"$*\" in 'build -o'*) mkdir -p bin/ci; cp fake/runner bin/ci/runner;; esac\n")
			script(".ci/install", fails)
			script(".ci/pipeline", strings.TrimPrefix(string(read(t, "../../.ci/pipeline")), "#!/usr/bin/env bash\n"))
			cmd := exec.Command("bash", ".ci/pipeline", "PRD-900")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "fake")+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if failed := err != nil; failed != (c.fails != "") || !strings.Contains(string(out), c.says) {
				t.Errorf("%v:\n%s", err, out)
			}
			if c.fails != "" && strings.Contains(string(out), "passed") {
				t.Errorf("it also says that it passed:\n%s", out)
			}
		})
	}
}
