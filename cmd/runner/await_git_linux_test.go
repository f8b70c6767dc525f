package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// awaitGit waits until no process of git works below a directory. A killed program can have
// been about to start one: its child has the name of the program until then.
func awaitGit(t *testing.T, program, dir string) {
	t.Helper()
	for {
		starting, working := processesIn(t, dir, filepath.Base(program)), processesIn(t, dir, "git")
		if len(starting)+len(working) == 0 {
			return
		}
		for _, pid := range working {
			awaitEnd(t, pid)
		}
		runtime.Gosched()
	}
}

// processesIn returns the processes with a name that work in or below a directory.
func processesIn(t *testing.T, dir, name string) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range all {
		comm, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "comm")) // it may have ended
		target, err := os.Readlink(link)
		if err != nil || strings.TrimSpace(string(comm)) != name[:min(len(name), maxComm)] || target != dir && !strings.HasPrefix(target, dir+"/") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// maxComm is how much of its name Linux keeps of a process.
const maxComm = 15

// awaitEnd waits until a process has ended.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if err == nil {
			return
		}
		if !errors.Is(err, unix.EINTR) {
			t.Fatal(err)
		}
	}
}
