package cli

import "io/fs"

// trustedAbove reports whether a path may mark a workspace. On Windows it accepts every
// directory, because only access control lists tell which users can write to it.
func trustedAbove(info fs.FileInfo) bool { return info.IsDir() }
