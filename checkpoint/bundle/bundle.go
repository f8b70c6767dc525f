// Package bundle is the archive in which a session travels: one file, a tar
// stream that is usually compressed, of a table and the members that the table
// names. It knows nothing of sessions: the caller gives a JSON object, the
// header, and files by name.
//
// The first member, bundle.json, holds the format version, the header, and of
// every other member the name, size and SHA-256. Everything else in the stream
// follows from it: the members stand in the order of their names, their tar
// headers hold nothing but name and size, and the compressed stream ends where
// the tar stream does. So there is exactly one tar stream for a header and its
// members. Write makes it, and the reader accepts no other: it computes what
// must come, and compares. Links, devices, owners, extended records and
// whatever else tar can say are not looked for, since nothing is left that
// could say them.
//
// Write exports. Verify reads a whole archive and keeps nothing; Stage also
// keeps the members, under numbers, in a directory that is there only if the
// whole archive is as it should be. FORMAT.md, "The export archive", is the
// format's manual.
package bundle

import (
	"encoding/json"
	"io"
	"strings"
)

// FormatVersion is the version that is written, and the only one that is read.
const FormatVersion = "1.0"

// Format is how the tar stream is compressed. Reading does not need to be told.
type Format int

const (
	Tar Format = iota
	Gzip
	Zstd
)

// FormatOf returns the format that a file's name stands for.
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

// Entry is a file to be written. Open is called twice, to hash the bytes and
// to write them; both times it must give the same Size bytes.
type Entry struct {
	Name string
	Size int64
	Open func() (io.ReadCloser, error)
}

// Summary describes an archive that was written.
type Summary struct {
	SHA256  string // of the whole file, in hex
	Size    int64  // of the whole file
	Members int    // without bundle.json
}

// Contents is what bundle.json says.
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
