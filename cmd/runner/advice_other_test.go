//go:build !windows

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/show"
)

// TestSystemHint: an error of the operating system comes with what to do about
// it, unless the command knows better.
func TestSystemHint(t *testing.T) {
	t.Parallel()
	at := func(err error) error {
		return fmt.Errorf("write the journal: %w", &fs.PathError{Op: "open", Path: "/ws/.runner/PRD-001", Err: err})
	}
	for name, test := range map[string]struct {
		err  error
		want string // after `hint: `, "" for none
	}{
		"full":      {at(syscall.ENOSPC), "free some space on that disk, then run the command again"},
		"quota":     {at(syscall.EDQUOT), "free some space on that disk"},
		"read only": {at(syscall.EROFS), "make that disk writable"},
		"forbidden": {at(syscall.EACCES), "read and write .runner/PRD-001, then"},
		"forbidden, before it has its name": {
			fmt.Errorf("rewrite it: %w", &fs.PathError{Op: "open", Path: "/ws/.runner/PRD-001/.tmp-journal.jsonl-ABC", Err: syscall.EACCES}), "write in .runner/PRD-001, then",
		},
		"too large": {at(syscall.EFBIG), "ulimit -f` shows, then run the command again"},
		"too many":  {at(syscall.EMFILE), "ulimit -n` shows, then run the command again"},
		"broken":    {at(syscall.EIO), "the system log says about that disk, then"},
		"another":   {at(syscall.ELOOP), ""},
		"known":     {advice.With(at(syscall.ENOSPC), "do that"), "do that\n"},
	} {
		var stderr bytes.Buffer
		env := &cli.Environment{Stderr: show.NewScreen(&stderr), CommandLine: advice.CommandLine{Workdir: "/ws"}}
		reportError(env, test.err)
		_, hint, found := strings.Cut(stderr.String(), "hint: ")
		if found != (test.want != "") || !strings.Contains(hint, test.want) {
			t.Errorf("%s: %q", name, stderr.String())
		}
		if exitCode(test.err) != exitDamaged {
			t.Errorf("%s: exit code %d", name, exitCode(test.err))
		}
	}
	if got := advice.Of(advice.CommandLine{}, "", errors.New("no")); got != "" {
		t.Errorf("%q", got)
	}
}
