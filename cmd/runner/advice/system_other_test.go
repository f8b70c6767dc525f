//go:build !windows

package advice_test

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"prdrunner/checkpoint"
	"prdrunner/cmd/runner/advice"
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
		user string
		want string // "" for none
	}{
		"full":      {at(syscall.ENOSPC), "", "free some space on that disk, then run the command again"},
		"quota":     {at(syscall.EDQUOT), "", "free some space on that disk"},
		"read only": {at(syscall.EROFS), "", "make that disk writable"},
		"forbidden": {at(syscall.EACCES), "", "let the user who runs this read and write .runner/PRD-001, then"},
		"forbidden, before it has its name": {
			fmt.Errorf("rewrite it: %w", &fs.PathError{Op: "open", Path: "/ws/.runner/PRD-001/.tmp-journal.jsonl-ABC", Err: syscall.EACCES}), "ana",
			"let the user ana write in .runner/PRD-001, then",
		},
		"forbidden, derived":    {&checkpoint.DerivedError{Path: "/ws/PRD-001.json", Err: syscall.EACCES}, "ana", "let the user ana write in ., then"},
		"forbidden, at no path": {syscall.EACCES, "", ""},
		"not a file":            {at(checkpoint.ErrNotRegular), "", "move away what is in the place of that file"},
		"too long":              {at(checkpoint.ErrTooLong), "", "move away what is in the place of that file"},
		"changed":               {at(checkpoint.ErrJournalChanged), "", "find out what changed the journal"},
		"too large":             {at(syscall.EFBIG), "", "ulimit -f` shows, then run the command again"},
		"too many":              {at(syscall.EMFILE), "", "ulimit -n` shows, then run the command again"},
		"too many in all":       {at(syscall.ENFILE), "", "ulimit -n` shows, then run the command again"},
		"broken":                {at(syscall.EIO), "", "the system log says about that disk, then"},
		"another":               {at(syscall.ELOOP), "", ""},
		"known":                 {advice.With(at(syscall.ENOSPC), "do that"), "", "do that"},
	} {
		got := advice.Of(advice.CommandLine{Workdir: "/ws"}, test.user, test.err)
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
