package objects

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

const (
	digestPrefix = "sha256:"
	zstExt       = ".zst"
	nameLength   = 64 // hex digits
	dirLength    = 2  // of them, in the name of the subdirectory
)

// name is the 64 hex digits of an object. Nothing else becomes part of a path.
type name string

func parse(digest string) (name, error) {
	digits, ok := strings.CutPrefix(digest, digestPrefix)
	if !ok || len(digits) != nameLength || !IsHex(digits) {
		return "", fmt.Errorf("%q: %w", digest, ErrDigest)
	}
	return name(digits), nil
}

func nameOf(sum []byte) name { return name(hex.EncodeToString(sum)) }

// IsHex reports whether all of a text is hex digits, of which the letters are small. It
// looks at eight bytes at once: every name of everything that is kept is looked at, often
// more than once.
func IsHex[T string | []byte](text T) bool {
	for len(text) >= 8 {
		word := uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 |
			uint64(text[4])<<32 | uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56
		if !areHex(word) {
			return false
		}
		text = text[8:]
	}
	for i := range len(text) {
		if !areHex(allBytes * uint64(text[i])) {
			return false
		}
	}
	return true
}

const (
	allBytes = 0x0101010101010101 // times a byte: a word of it
	highBits = 0x80 * allBytes
)

// areHex reports whether each byte of a word is a hex digit. The highest bit of a byte
// becomes that of a sum where it is at least what was added for; what is no ASCII has it
// before.
func areHex(word uint64) bool {
	digit := (word + (0x80-'0')*allBytes) &^ (word + (0x7f-'9')*allBytes)
	letter := (word + (0x80-'a')*allBytes) &^ (word + (0x7f-'f')*allBytes)
	return (digit|letter)&^word&highBits == highBits
}

func (n name) digest() string { return digestPrefix + string(n) }

// dir is the subdirectory that an object lies in.
func (n name) dir() string { return string(n[:dirLength]) }

// Subdirectory tells the subdirectories apart in which objects lie, in their order. It
// does not check that a digest is one.
func Subdirectory(digest string) int {
	if len(digest) < len(digestPrefix)+dirLength {
		return 0
	}
	return int(digest[len(digestPrefix)])<<8 | int(digest[len(digestPrefix)+1])
}

// isDir reports whether a subdirectory may hold objects.
func isDir(base string) bool { return len(base) == dirLength && IsHex(base) }

// inDir returns the object that a file of a subdirectory holds.
func inDir(dir, base string) (n name, ok bool) {
	digits := strings.TrimSuffix(base, zstExt)
	return name(dir + digits), len(digits) == nameLength-dirLength && IsHex(digits)
}

// paths are the files that an object may be, in the order of reading.
func (s *Store) paths(n name) [2]string {
	raw := filepath.Join(s.dir, n.dir(), string(n[dirLength:]))
	return [2]string{raw, raw + zstExt}
}

// file is an object as it was found.
type file struct {
	path       string
	compressed bool
	size       int64 // of the file
}

// find returns the file that is read for an object, fs.ErrNotExist, or
// *DamagedError where something has its name that is no file.
func (s *Store) find(n name) (file, error) {
	for i, path := range s.paths(n) {
		info, err := s.fs.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return file{}, fmt.Errorf("find object %s: %w", n.digest(), err)
		}
		f := file{path: path, compressed: i == 1, size: info.Size()}
		if !info.Mode().IsRegular() {
			return f, &DamagedError{Path: path, Digest: n.digest(), Detail: "not a regular file"}
		}
		return f, nil
	}
	return file{}, &NotExistError{Digest: n.digest()}
}

// mayHold reports whether a file can be an object of a size, as far as can be
// told without reading it.
func (f file) mayHold(size int64) bool {
	if f.compressed {
		return f.size > 0
	}
	return f.size == size
}

// path is the file that an object is written to.
func (s *Store) path(n name, compressed bool) string {
	paths := s.paths(n)
	if compressed {
		return paths[1]
	}
	return paths[0]
}
