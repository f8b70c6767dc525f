//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// syncDisk has the system write all pending data to the disk.
func syncDisk() { unix.Sync() }

// peakMemory returns the peak memory of a process, or of the largest process that it
// waited for, in bytes. On Linux, the figure of a process includes the memory of its
// parent at the start. So peakMemory returns 0, not known, unless the figure exceeds that
// of this program.
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
	return int64(usage.Maxrss) * 1024 // the type of Maxrss differs between systems
}

// written returns how many bytes a process, and all processes that it waited for, had the
// system write to a disk, in whole pages. It returns 0, not known, on other systems than
// Linux, and if there is no disk.
func written(p *os.ProcessState) int64 {
	const block = 512 // bytes, independent of the file system's block size
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok || runtime.GOOS != "linux" {
		return 0
	}
	return int64(usage.Oublock) * block // the type of Oublock differs between systems
}
