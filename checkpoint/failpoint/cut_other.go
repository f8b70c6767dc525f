//go:build failpoint && !linux

package failpoint

func cut(uint32) { panic("a file system can be shut down on Linux only") }
