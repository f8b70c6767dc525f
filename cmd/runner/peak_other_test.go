//go:build !linux

package main

// peak is used only on Linux.
func peak() { panic("not on this system") }
