package store

import "os"

func remove(name string) error { return os.Remove(name) }

// syncDir does nothing: Windows has no way to flush a directory, and makes
// renames durable by the journal of NTFS.
func syncDir(string) error { return nil }
