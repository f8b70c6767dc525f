// Package bundle reads and writes the archive that export creates: one file, usually
// compressed, that contains a tar stream with a table and the members that the table lists.
// It knows nothing of sessions: the caller passes a JSON object, the header, and named
// files.
//
// The first member, bundle.json, contains the format version, the header, and the name,
// size and SHA-256 of each other member. The members follow, sorted by name; their tar
// headers contain only name and size; and the compressed stream ends with the tar stream.
// So there is exactly one tar stream for a header and its members. Write produces it, and
// the reader computes the expected bytes and accepts no others. This excludes links,
// devices, owners, extended records and everything else that tar allows, without looking
// for them.
//
// Write exports. Verify reads a whole archive and keeps nothing. Stage also keeps the
// members, under numbers, in a directory that exists only if the whole archive is valid.
// Spool keeps them in a file without a name. FORMAT.md, "The export archive", describes the
// format.
//
// To add a compression, extend Format here and compress.go. To change the table, change
// table.go and FormatVersion.
package bundle

import (
	"encoding/json"
	"io"
	"strings"
)

// FormatVersion is the version that Write writes, and the only one that can be read.
const FormatVersion = "1.0"

// Format is the compression of the tar stream. Readers detect it.
type Format int

const (
	Tar Format = iota
	Gzip
	Zstd
)

// FormatOf returns the format for a file name.
func FormatOf(name string) (Format, bool) {
	for _, known := range []struct {
		ext    string
		format Format
	}{{".tar", Tar}, {".tar.gz", Gzip}, {".tgz", Gzip}, {".tar.zst", Zstd}} {
		if strings.HasSuffix(name, known.ext) {
			return known.format, true
		}
	}
	return Tar, false
}

// Entry is a file to be written. Open is called twice, to hash the file and to write it.
// Both times it must return the same Size bytes.
type Entry struct {
	Name string
	Size int64
	Open func() (io.ReadCloser, error)
}

// Summary describes a written archive.
type Summary struct {
	SHA256  string // of the whole file, in hex
	Size    int64  // of the whole file
	Members int    // without bundle.json
}

// Contents is the content of bundle.json.
type Contents struct {
	Header  json.RawMessage // the caller's object, without spaces
	Members []Member        // sorted by name
}

// Member is a line of the table.
type Member struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // in hex
}
