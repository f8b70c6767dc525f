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
	"prdrunner/checkpoint/savepoint"
	"prdrunner/checkpoint/workspace"
)

// hashOf returns the hash of everything that a checkpoint copied: the SHA-256 of one line
// for each file, then of one for each key, and of one for each database, each kind sorted:
//
//	file MODE SHA256 PATH
//	key SHA256 NAME
//	database SHA256 NAME
//
// MODE is octal, as git has it: 100644 for a file, 120000 for a symbolic link, 040755 for
// an empty directory, whose SHA256 is "-". SHA256 is that of the bytes, of the link's
// target, of the key's value, or the digest of the database; "-" stands for a key that was
// not set.
func hashOf(l *workspace.Listing, keys *Keys, databases *Databases) string {
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
	if databases != nil {
		for _, s := range slices.SortedFunc(slices.Values(databases.Savepoints), func(a, b *savepoint.Savepoint) int { return strings.Compare(a.Name, b.Name) }) {
			writeHashLine(sum, "database", strings.TrimPrefix(s.Digest, "sha256:"), s.Name)
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
