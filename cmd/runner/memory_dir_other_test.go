//go:build !linux

package main

// memoryDir returns "": only on Linux is there always a file system in memory.
func memoryDir() string { return "" }
