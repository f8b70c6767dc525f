//go:build !linux

package main

// memoryDir returns "", because systems other than Linux may have no file system in
// memory.
func memoryDir() string { return "" }
