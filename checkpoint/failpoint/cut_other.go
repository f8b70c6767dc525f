//go:build failpoint && !linux

package failpoint

func cutPower(uint32) { panic("a file system can be shut down on Linux only") }
