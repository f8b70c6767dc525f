//go:build !linux

package savepointtest

// memoryDir returns "": elsewhere there is no file system in memory to count on.
func memoryDir() string { return "" }
