//go:build !linux

package main

// peak is used on Linux alone.
func peak() { panic("not on this system") }
