package main

import "io/fs"

// trustedAbove reports whether a directory may mark a workspace: what others may
// write to is known on Windows by lists of rights alone.
func trustedAbove(info fs.FileInfo) bool { return info.IsDir() }
