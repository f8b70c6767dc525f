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
	dirLength    = 2  // the digits that name the subdirectory
)

// name is the 64 hex digits of an object. No other text becomes part of a path.
type name string

func parseDigest(digest string) (name, error) {
	digits, ok := strings.CutPrefix(digest, digestPrefix)
	if !ok || len(digits) != nameLength || !IsHex(digits) {
		return "", fmt.Errorf("%q: %w", digest, ErrDigest)
	}
	return name(digits), nil
}

func nameOf(sum []byte) name { return name(hex.EncodeToString(sum)) }

// DigestOf returns the digest that a SHA-256 sum stands for.
func DigestOf(sum []byte) string { return nameOf(sum).digest() }

// IsDigest reports whether a text is a digest in its only valid spelling.
func IsDigest(text string) bool {
	_, err := parseDigest(text)
	return err == nil
}

// IsHex reports whether a text consists of lower-case hex digits. It checks eight bytes at
// a time, because validate and prune call it for each name of each checkpoint.
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
	allBytes = 0x0101010101010101 // times a byte: eight times that byte
	highBits = 0x80 * allBytes
)

// areHex reports whether each byte of a word is a lower-case hex digit. Adding 0x80-c to a
// byte sets its highest bit if the byte is at least c. A byte that is not ASCII has that
// bit before the addition, and is refused.
func areHex(word uint64) bool {
	digit := (word + (0x80-'0')*allBytes) &^ (word + (0x7f-'9')*allBytes)
	letter := (word + (0x80-'a')*allBytes) &^ (word + (0x7f-'f')*allBytes)
	return (digit|letter)&^word&highBits == highBits
}

func (n name) digest() string { return digestPrefix + string(n) }

// subdirectory returns the name of the subdirectory that holds the object.
func (n name) subdirectory() string { return string(n[:dirLength]) }

// Subdirectory returns a number for the subdirectory that holds an object. The numbers sort
// as the subdirectories do. It does not check the digest.
func Subdirectory(digest string) int {
	if len(digest) < len(digestPrefix)+dirLength {
		return 0
	}
	return int(digest[len(digestPrefix)])<<8 | int(digest[len(digestPrefix)+1])
}

// isSubdirectory reports whether a directory with this name can hold objects.
func isSubdirectory(base string) bool { return len(base) == dirLength && IsHex(base) }

// nameOfFile returns the object that a file of a subdirectory holds.
func nameOfFile(dir, base string) (n name, ok bool) {
	digits := strings.TrimSuffix(base, zstExt)
	return name(dir + digits), len(digits) == nameLength-dirLength && IsHex(digits)
}

// candidates returns the two paths that an object can have, in the order in which readers
// try them.
func (s *Store) candidates(n name) [2]string {
	raw := filepath.Join(s.dir, n.subdirectory(), string(n[dirLength:]))
	return [2]string{raw, raw + zstExt}
}

// file describes the file of an object.
type file struct {
	path       string
	compressed bool
	size       int64 // of the file, compressed or not
}

// locate returns the file of an object. It returns fs.ErrNotExist, or *DamagedError if the
// path is not a regular file.
func (s *Store) locate(n name) (file, error) {
	for i, path := range s.candidates(n) {
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

// fitsSize reports whether a file can hold an object of the given size. It does not read
// the file. A compressed file only must not be empty.
func (f file) fitsSize(size int64) bool {
	if f.compressed {
		return f.size > 0
	}
	return f.size == size
}

// targetPath returns the path that a new object is written to.
func (s *Store) targetPath(n name, compressed bool) string {
	paths := s.candidates(n)
	if compressed {
		return paths[1]
	}
	return paths[0]
}
