package disk

import "io/fs"

// IsForeign is not known: permissions on Windows are no mode bits.
func IsForeign(fs.FileInfo) bool { return false }

func isWorldWritable(fs.FileInfo) bool { return false }

// IsWritableByOthers is not known either.
func IsWritableByOthers(fs.FileInfo) bool { return false }
