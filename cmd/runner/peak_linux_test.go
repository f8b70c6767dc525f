package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
)

// peak runs a command and writes the most memory that it used into a file, in
// bytes: `peak FILE PATH NAME [ARGUMENT...]`. A process is taken to have used what
// the one that started it had, so that must be a small one, and not the tests.
func peak() {
	runtime.LockOSThread() // the command ends with the thread that started it
	cmd := &exec.Cmd{
		Path: os.Args[2], Args: os.Args[3:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	if err := cmd.Run(); cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "peak:", err)
		os.Exit(2)
	}
	bytes := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	must(os.WriteFile(os.Args[1], strconv.AppendInt(nil, bytes, 10), 0o600))
	os.Exit(cmd.ProcessState.ExitCode())
}

// measured has a command that has not begun be run by peak; memory is what that
// found, once it has ended.
func measured(t *testing.T, cmd *exec.Cmd) (memory func() int64) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "peak")
	path, err := exec.LookPath("peak")
	must(err)
	cmd.Path, cmd.Args = path, append([]string{"peak", file, cmd.Path}, cmd.Args...)
	return func() int64 {
		t.Helper()
		data, err := os.ReadFile(file)
		bytes, parseErr := strconv.ParseInt(string(data), 10, 64)
		if err := errors.Join(err, parseErr); err != nil {
			t.Fatal(err)
		}
		return bytes
	}
}
