//go:build failpoint

package failpoint

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestParsePoint(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"EIO", "EIO@", "EIO@0", "EIO@-1", "EIO@x", "nothing@1", "@1", "delay=x@1"} {
		if p, err := parsePoint(bad); err == nil {
			t.Errorf("%s is %+v", bad, p)
		}
	}
	for _, good := range []string{"", "kill@1", "torn@2+", "cut1@1", "cut2@1", "SIGINT@1", "SIGTERM@1", "SIGQUIT@1", "delay=1s@1", "EMFILE@9:open,read/name"} {
		if _, err := parsePoint(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

// TestErrors has several operations pass a failpoint, and checks which of them fail.
func TestErrors(t *testing.T) {
	t.Parallel()
	type call struct {
		op   Op
		name string
	}
	calls := []call{{Create, "/a/x"}, {Write, "/a/x"}, {Read, "/a/x"}, {Write, "/b/y"}, {Rename, "/b/x"}}
	for point, want := range map[string][]bool{
		"":                     {false, false, false, false, false},
		"EIO@1":                {true, false, false, false, false},
		"EIO@2":                {false, true, false, false, false},
		"EIO@3":                {false, false, false, true, false}, // reading does not count
		"EIO@3+":               {false, false, false, true, true},
		"EIO@1:read":           {false, false, true, false, false},
		"EIO@1+:write,rename":  {false, true, false, true, true},
		"EIO@2:write,rename/x": {false, false, false, false, true},
		"EIO@9":                {false, false, false, false, false},
	} {
		p, err := parsePoint(point)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range calls {
			halves := 0
			var half func()
			if c.op == Write {
				half = func() { halves++ }
			}
			err := p.before(c.op, c.name, half)
			if failed := errors.Is(err, syscall.EIO); failed != want[i] || !failed && err != nil {
				t.Errorf("%s: operation %d: %v", point, i, err)
			}
			if wrote := halves == 1; wrote != (want[i] && half != nil) {
				t.Errorf("%s: operation %d wrote %d halves", point, i, halves)
			}
		}
	}
}

func TestDelayWritesNoHalf(t *testing.T) {
	t.Parallel()
	p, err := parsePoint("delay=20ms@1")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err = p.before(Write, "x", func() { t.Error("half of it was written") })
	if took := time.Since(began); err != nil || took < 20*time.Millisecond {
		t.Errorf("%v after %s", err, took)
	}
}

func TestErrorNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]error{
		"EIO": syscall.EIO, "ENOSPC": syscall.ENOSPC, "EDQUOT": syscall.EDQUOT, "EROFS": syscall.EROFS, "EMFILE": syscall.EMFILE, "EPERM": nil,
	} {
		if got := errorNamed(name); got != want {
			t.Errorf("%s is %v", name, got)
		}
	}
}

// TestEnvironment reads the failpoint and the log from the environment.
func TestEnvironment(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv("RUNNER_FAILPOINT", "ENOSPC@2:write")
	t.Setenv("RUNNER_FAILPOINT_LOG", log)
	p, err := fromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.before(Write, "/a", nil); err != nil {
		t.Errorf("the first operation: %v", err)
	}
	wrote := false
	if err := p.before(Write, "/b", func() { wrote = true }); !errors.Is(err, syscall.ENOSPC) || !wrote {
		t.Errorf("the second operation: %v, half of it was written: %v", err, wrote)
	}
	got, err := os.ReadFile(log)
	if want := "1 write /a\n2 write /b\n"; err != nil || string(got) != want {
		t.Errorf("logged %q, %v, want %q", got, err, want)
	}
}
