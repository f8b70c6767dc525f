package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// IDError says why a text can't be the id of a PRD.
type IDError struct {
	ID  string
	Why string
}

func (e *IDError) Error() string { return fmt.Sprintf("%q is not a PRD id: %s", e.ID, e.Why) }

// CheckID returns an *IDError if an id would give a PRD a directory that is Runner's own,
// or git references that git refuses. It does not check the configured pattern of ids.
func CheckID(id string) error {
	own := []string{ObjectsDir, LocksDir, FailedDir, TrashDir, SafetyDir, AuditName, CacheName, "store"}
	name := EncodeName(id)
	switch {
	case id == "" || id == "." || id == ".." || strings.ContainsAny(id, `/\`):
		return &IDError{id, "it can't be the name of a directory"}
	case slices.ContainsFunc(own, func(n string) bool { return strings.EqualFold(n, name) }):
		return &IDError{id, "Runner keeps a file or directory of its own under that name"}
	case slices.Contains([]string{ArchivingExt, ImportingExt, DeletingExt, MovingExt, ".json"}, strings.ToLower(filepath.Ext(name))):
		return &IDError{id, "Runner gives names that end with " + filepath.Ext(name) + " to files of its own"}
	case strings.Contains(name, "..") || strings.HasSuffix(name, ".") || strings.HasSuffix(name, ".lock"):
		return &IDError{id, `it would be part of the name of a git reference, which must not hold "..", and must not end with "." or ".lock"`}
	}
	return nil
}

// MaxEncoded bounds the length of an encoded name. It leaves room in a file name of 255
// bytes for everything that is added, at most in the temporary file of a checkpoint.
const MaxEncoded = 160

// EncodeName makes a name fit for a file. It percent-encodes every byte except letters,
// digits, ".", "_" and "-", and a "." at the beginning. A name that gets too long is cut
// and ends with its digest, so that different names never get the same file.
func EncodeName(name string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(name) + len("%5B%22%22%5D")) // of an instance of a for_each
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&0xf])
		}
	}
	if b.Len() <= MaxEncoded {
		return b.String()
	}
	sum := sha256.Sum256([]byte(name))
	digest := "-" + hex.EncodeToString(sum[:16])
	return b.String()[:MaxEncoded-len(digest)] + digest
}
