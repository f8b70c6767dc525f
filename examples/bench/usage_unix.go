//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// settle has the system write what it has put off.
func settle() { unix.Sync() }

// peakMemory is the most that a process, or the largest that it waited for, had in
// memory, in bytes. On Linux a process counts what the one that started it had: it is
// 0, which is not known, where that is no less.
func peakMemory(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return usage.Maxrss
	}
	if runtime.GOOS == "linux" {
		var own syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil || usage.Maxrss <= own.Maxrss {
			return 0
		}
	}
	return int64(usage.Maxrss) * 1024 // which are wider elsewhere
}

// written is how many bytes a process, and all that it waited for, had the system
// write to a disk, in whole pages; 0, which is not known, but on Linux, and where
// there is no disk.
func written(p *os.ProcessState) int64 {
	const block = 512 // bytes, whatever the file system has
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok || runtime.GOOS != "linux" {
		return 0
	}
	return int64(usage.Oublock) * block // which are wider elsewhere
}
