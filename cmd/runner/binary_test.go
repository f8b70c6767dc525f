package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"prdrunner/checkpoint/savepoint/savepointtest"
)

// binaries builds the runner command for all tests of one run, once for each set of build
// tags.
type binaries struct {
	mu    sync.Mutex
	dir   string
	built map[string]func() (string, error) // by tags; each returns the path of the binary
}

// sharedBinaries holds the binaries that buildBinary has built.
var sharedBinaries = &binaries{built: map[string]func() (string, error){}}

// sharedPostgres is the server of the tests that need one.
var sharedPostgres = savepointtest.NewPostgres()

// suite runs the tests and then removes the binaries that they built, and stops the server.
type suite struct{ *testing.M }

// Run implements testscript.TestingM. If TMPDIR is not set and Linux has room, temporary
// files are in memory, where fsync is fast. The scripts in .ci set TMPDIR, to test on a
// disk. Twice as many tests as processors run at once, because most wait for processes
// and the disk.
func (s suite) Run() int {
	defer func() { _ = os.RemoveAll(sharedBinaries.dir) }()
	defer sharedPostgres.Stop()
	if dir := memoryDir(); dir != "" && os.Getenv("TMPDIR") == "" {
		if err := os.Setenv("TMPDIR", dir); err != nil {
			panic(err)
		}
	}
	// In a job of a CI system, the commands that tests run would write for that system.
	for _, name := range []string{"GITHUB_ACTIONS", "GITLAB_CI", "BUILDKITE", "CIRCLECI", "JENKINS_URL"} {
		if err := os.Unsetenv(name); err != nil {
			panic(err)
		}
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	return s.M.Run()
}

// buildBinary returns the path of the runner binary, built with the given tags or,
// without tags, as a user builds it. Tests with the same tags share one binary and must
// not change it.
func buildBinary(t *testing.T, tags ...string) string {
	t.Helper()
	binary, err := sharedBinaries.get(strings.Join(tags, ","))
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// get returns the path of the binary with these tags. The first caller builds the binary,
// and the other callers wait for that build.
func (b *binaries) get(tags string) (string, error) {
	b.mu.Lock()
	build, known := b.built[tags]
	if !known {
		build = sync.OnceValues(func() (string, error) { return b.build(tags) })
		b.built[tags] = build
	}
	b.mu.Unlock()
	return build()
}

func (b *binaries) build(tags string) (string, error) {
	dir, err := b.newDirectory()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "runner")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	out, err := exec.Command("go", "build", "-tags", tags, "-o", binary, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the command: %w\n%s", err, out)
	}
	return binary, nil
}

// newDirectory makes a directory for one binary.
func (b *binaries) newDirectory() (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "runner-binaries-")
		if err != nil {
			return "", err
		}
		b.dir = dir
	}
	return os.MkdirTemp(b.dir, "")
}
