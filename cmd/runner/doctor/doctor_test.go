package doctor

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prdrunner/checkpoint/store"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
)

// examining returns an examination at a moment, without a terminal.
func examining(now time.Time) *examination {
	return &examination{env: &cli.Environment{
		Now: func() time.Time { return now }, Stdout: show.NewScreen(io.Discard), IsTerminal: func(any) bool { return false },
	}}
}

// only returns the only finding.
func (x *examination) only(t *testing.T) info.Finding {
	t.Helper()
	if len(x.findings) != 1 {
		t.Fatalf("%d findings: %v", len(x.findings), x.findings)
	}
	return x.findings[0]
}

func TestClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for ahead, want := range map[time.Duration]info.Level{-time.Hour: info.OK, 0: info.OK, clockSlack: info.OK, clockSlack + time.Second: info.Warning} {
		x := examining(now)
		x.clock(now.Add(ahead))
		if f := x.only(t); f.Level != want {
			t.Errorf("%s ahead: %+v", ahead, f)
		}
	}
	x := examining(now)
	x.clock(time.Time{})
	if f := x.only(t); f.Level != info.OK {
		t.Errorf("without a record: %+v", f)
	}
}

func TestRoom(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		space space
		want  info.Level
	}{
		{space{bytes: 1 << 40, files: 1 << 20, counted: true}, info.OK},
		{space{bytes: 1 << 40}, info.OK}, // a file system that counts no files
		{space{bytes: 1 << 40, counted: true}, info.Problem},
		{space{bytes: 1 << 40, files: problemFiles, counted: true}, info.Warning},
		{space{bytes: problemBytes - 1, files: 1 << 20, counted: true}, info.Problem},
		{space{bytes: problemBytes}, info.Warning},
		{space{bytes: warningBytes}, info.OK},
	} {
		if got := test.space.level(); got != test.want {
			t.Errorf("%+v: %s, want %s", test.space, got, test.want)
		}
	}
}

// TestTraits: each thing that a file system lacks is named.
func TestTraits(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for want, found := range map[string]traits{
		"it lacks locks (broken)":                         {lock: broken},
		"it lacks hard links (broken)":                    {link: broken},
		"it lacks a rename that replaces (broken)":        {replace: broken},
		"no symbolic links":                               {symlink: broken},
		"upper and lower case are the same":               {foldsCase: true},
		"copies share blocks":                             {clones: true},
		"it dates files 1h apart":                         {skew: -time.Hour},
		"fsync, locks, hard links, rename; upper and low": {},
	} {
		x := examining(time.Now())
		x.traits(found, t.TempDir())
		if f := x.only(t); !strings.Contains(f.Detail, want) {
			t.Errorf("%+v: %+v", found, f)
		}
	}
}

// TestProbe: the file systems that tests run on have all that Runner relies on. The probe leaves
// nothing, and removes what a doctor that was killed has left, but not what another one uses.
func TestProbe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	killed, other := store.TempName(filepath.Join(dir, "doctor")), store.TempName(filepath.Join(dir, "doctor"))
	for name, written := range map[string]time.Time{killed: time.Now().Add(-2 * probeTime), other: time.Now()} {
		err := errors.Join(os.Mkdir(name, 0o700), os.WriteFile(filepath.Join(name, "lock"), nil, 0o600), os.Chtimes(name, written, written))
		if err != nil {
			t.Fatal(err)
		}
	}
	found, err := probe(dir)
	if err != nil || found.lock != nil || found.link != nil || found.replace != nil {
		t.Errorf("%+v, %v", found, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || !slices.Equal(left, []string{other}) {
		t.Errorf("the directory has %q, want %q: %v", left, other, err)
	}
	if at, err := existing(dir + "/a/b"); at != dir || err != nil {
		t.Errorf("the nearest directory is %s: %v", at, err)
	}
	if left := foreignBelow(dir); left != "" {
		t.Errorf("%s belongs to another user", left)
	}
}

func TestErrorOf(t *testing.T) {
	t.Parallel()
	problem := info.Finding{Check: "git", Level: info.Problem}
	mistake := info.Finding{Check: configuration, Level: info.Problem}
	warning := info.Finding{Check: "git", Level: info.Warning}
	if err := ErrorOf([]info.Finding{warning}); err != nil {
		t.Errorf("warnings alone: %v", err)
	}
	var unwell *Error
	if err := ErrorOf([]info.Finding{warning, mistake}); !errors.As(err, &unwell) || !unwell.OnlyConfig {
		t.Errorf("a mistake in the configuration: %v", err)
	}
	if err := ErrorOf([]info.Finding{problem, mistake}); !errors.As(err, &unwell) || unwell.OnlyConfig {
		t.Errorf("several problems: %v", err)
	}
}

func TestLocale(t *testing.T) {
	t.Parallel()
	for want, environ := range map[string][]string{
		"":            nil,
		"C":           {"LANG=en_US.UTF-8", "LC_ALL=C"},
		"de_DE.utf8":  {"LC_CTYPE=de_DE.utf8", "LANG=C"},
		"en_US.UTF-8": {"LANG=en_US.UTF-8"},
	} {
		x := examining(time.Now())
		x.env.Environ = environ
		if got := x.locale(); got != want || isUTF8(got) != strings.Contains(strings.ToLower(want), "utf") {
			t.Errorf("%v: %q, %v", environ, got, isUTF8(got))
		}
	}
}
