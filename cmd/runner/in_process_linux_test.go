package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"prdrunner/cmd/runner/cli"
	"prdrunner/cmd/runner/show"
)

// inProcess runs the command line of cmd in the process of the tests, as the real binary
// runs it without a terminal and with empty standard input. It returns the output and the
// exit code. A panic is printed, as by the real binary, and gives the exit code -1.
//
// inProcess is for commands that start no workstream: only the real binary has signals, a
// temporary directory and child processes that no other test shares.
func inProcess(ctx context.Context, cmd *exec.Cmd) (out string, code int) {
	var printed lockedBuffer
	env := &cli.Environment{
		Args:       cmd.Args[1:],
		Environ:    cmd.Environ(), // without entries that a later entry overrides
		Stdin:      strings.NewReader(""),
		Stdout:     show.NewScreen(&printed),
		Stderr:     show.NewScreen(&printed),
		Now:        time.Now,
		IsTerminal: func(any) bool { return false },
		Abs: func(path string) (string, error) {
			if filepath.IsAbs(path) {
				return filepath.Clean(path), nil
			}
			return filepath.Join(cmd.Dir, path), nil
		},
	}
	defer func() {
		if r := recover(); r != nil {
			out, code = fmt.Sprintf("%spanic: %v\n%s", printed.String(), r, debug.Stack()), -1
		}
	}()
	code = execute(ctx, env)
	return printed.String(), code
}

// lockedBuffer is a buffer that several goroutines may write to. It collects the log, the
// warnings and the result of a command.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(data)
}

// String returns what was written.
func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// withoutAges returns a text with one word for each age ("just now", "1s ago"), and one space
// for several: the width of a column depends on the ages in it.
func withoutAges(text string) string {
	text = regexp.MustCompile(`just now|[0-9]+[smh] ago`).ReplaceAllString(text, "AGE")
	return regexp.MustCompile(` +`).ReplaceAllString(text, " ")
}

// TestInProcessIsAsTheBinary runs commands with inProcess and with the real binary:
// output and exit code must be the same, but for ages: time passes between the two.
func TestInProcessIsAsTheBinary(t *testing.T) {
	t.Parallel()
	p := prepared(t, (*place).failed)
	for _, line := range []string{
		"status", "status PRD-001 --json", "checkpoint list PRD-001", "plan PRD-001 --resume", "validate PRD-001", "config",
		"logs PRD-001 mend", "-C sub validate", "-C ../ws graph PRD-001", "no-such-command", "status --no-such-flag", "build PRD-001",
	} {
		want, wantCode := p.try(strings.Fields(line)...)
		got, code := inProcess(t.Context(), p.command("runner", strings.Fields(line)...))
		if withoutAges(got) != withoutAges(want) || code != wantCode {
			t.Errorf("runner %s in the process: exit code %d\n%s\nthe binary: exit code %d\n%s", line, code, got, wantCode, want)
		}
	}
}
