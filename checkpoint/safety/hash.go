package safety

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/workspace"
)

// hashOf returns the hash of everything that a checkpoint copied: the SHA-256 of one line
// for each file, and then of one for each key, both sorted:
//
//	file MODE SHA256 PATH
//	key SHA256 NAME
//
// MODE is octal, as git has it: 100644 for a file, 120000 for a symbolic link, 040755 for
// an empty directory, whose SHA256 is "-". SHA256 is that of the bytes, of the link's
// target, or of the key's value; "-" stands for a key that was not set.
func hashOf(l *workspace.Listing, keys *Keys) string {
	sum := sha256.New()
	if l != nil {
		for _, e := range l.Entries {
			digest := strings.TrimPrefix(e.Digest, "sha256:")
			if digest == "" {
				digest = "-"
			}
			writeHashLine(sum, "file", fullMode(e.Mode), digest, e.Path)
		}
	}
	if keys != nil {
		for _, name := range slices.Sorted(maps.Keys(keys.Values)) {
			digest := "-"
			if v := keys.Values[name]; v != nil {
				digest = fmt.Sprintf("%x", sha256.Sum256([]byte(v.Value)))
			}
			writeHashLine(sum, "key", digest, name)
		}
	}
	return objects.DigestOf(sum.Sum(nil))
}

func writeHashLine(h hash.Hash, fields ...string) {
	_, _ = io.WriteString(h, strings.Join(fields, " ")+"\n") // a hash returns no error
}

// fullMode returns the mode of an entry with the kind of file, in octal.
func fullMode(mode uint32) string {
	const regular = 0o100000
	if mode&(workspace.ModeSymlink|workspace.ModeDir) == 0 {
		mode |= regular
	}
	return fmt.Sprintf("%06o", mode)
}
