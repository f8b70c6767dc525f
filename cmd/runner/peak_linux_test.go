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

// peak is the main function of the program `peak FILE PATH NAME [ARGUMENT...]`, which
// runs a command and writes the peak of its resident memory to FILE, in bytes. The kernel
// counts the memory of the parent at the fork as memory of the child, so the parent must
// be a small process and not the tests.
func peak() {
	runtime.LockOSThread() // Pdeathsig kills the command when this thread ends
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

// measured changes a command that has not started to be run by the program peak. The
// returned function gives the peak of the memory in bytes, once the command has ended.
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
