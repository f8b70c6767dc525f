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
)

// binaries builds the command, once for each set of build tags, for all tests of
// one run.
type binaries struct {
	mu    sync.Mutex
	dir   string
	built map[string]func() (string, error) // by tags
}

// sharedBinaries is where buildBinary finds and leaves its binaries.
var sharedBinaries = &binaries{built: map[string]func() (string, error){}}

// suite runs the tests, and then removes the binaries that they built.
type suite struct{ *testing.M }

// Run implements testscript.TestingM. Temporary files are in memory, if TMPDIR is not set and
// Linux has room for them: then what is synced costs nothing. The scripts in .ci set TMPDIR, so
// that they test on a disk. Most tests wait for other processes and for the disk, so
// twice as many run at once as there are processors, unless -parallel says otherwise.
func (s suite) Run() int {
	defer func() { _ = os.RemoveAll(sharedBinaries.dir) }()
	if dir := memoryDir(); dir != "" && os.Getenv("TMPDIR") == "" {
		if err := os.Setenv("TMPDIR", dir); err != nil {
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

// buildBinary builds the command as a user would, or with tags. Tests that ask for
// the same tags share one binary, and must not change it.
func buildBinary(t *testing.T, tags ...string) string {
	t.Helper()
	binary, err := sharedBinaries.get(strings.Join(tags, ","))
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// get returns the binary with these tags. The first caller builds it, and the
// others wait for that.
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
