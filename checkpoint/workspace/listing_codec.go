package workspace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"prdrunner/checkpoint/text"
)

// A listing is stored as one object per directory, so that an unchanged directory costs
// nothing, and one object that names the directories.

// The format versions of listings. A listing that needs no later version is written in
// the first one, so that older versions of Runner can read it.
const (
	listingVersion     = "1.0"
	listingVersionMore = "1.1" // adds sparse, unstable and special
)

// maxListing bounds the size of each object of a listing, and maxEntries the number of
// entries, since a listing may come from a foreign archive.
const (
	maxListing = 128 << 20
	maxEntries = 4 << 20
)

// wireListing is the object that names the directories of a listing.
type wireListing struct {
	FormatVersion string      `json:"format_version"`
	Patterns      []text.Text `json:"patterns"`
	LeftOut       []text.Text `json:"left_out"`
	Unstable      []text.Text `json:"unstable,omitempty"`
	Special       []text.Text `json:"special,omitempty"`
	Dirs          []wireDir   `json:"dirs"`             // sorted by path
	Sparse        []wireDir   `json:"sparse,omitempty"` // the directories of the sparse files, sorted by path
}

// wireDir is a directory with files.
type wireDir struct {
	Path   text.Text `json:"path"` // "" for the workspace itself
	Object string    `json:"object"`
	Files  int       `json:"files"`
	Bytes  int64     `json:"bytes"`

	sparse bool // its files are not checked out: they have modes of git, and no digests
}

// wireFiles is the object of one directory.
type wireFiles struct {
	Files []wireFile `json:"files"` // sorted by name
}

type wireFile struct {
	Name   text.Text `json:"name"`
	Mode   string    `json:"mode"` // octal, as in a git tree
	Size   int64     `json:"size"`
	Digest string    `json:"digest,omitempty"`
	Blob   string    `json:"blob,omitempty"`
}

// directory is a directory of a listing with its entries.
type directory struct {
	path  string
	files []Entry
}

// groupByDir groups the entries of a listing by directory. Entries and directories are
// sorted.
func groupByDir(entries []Entry) []directory {
	var dirs []directory
	index := map[string]int{}
	for _, e := range entries {
		path := e.Path[:max(strings.LastIndexByte(e.Path, '/'), 0)]
		i, ok := index[path]
		if !ok {
			i = len(dirs)
			index[path] = i
			dirs = append(dirs, directory{path: path})
		}
		dirs[i].files = append(dirs[i].files, e)
	}
	slices.SortFunc(dirs, func(a, b directory) int { return strings.Compare(a.path, b.path) })
	return dirs
}

// encode returns the object of a directory. The same files always give the same bytes.
func (d *directory) encode() ([]byte, error) {
	wire := wireFiles{Files: make([]wireFile, len(d.files))}
	for i, e := range d.files {
		wire.Files[i] = wireFile{
			Name: text.Text(e.Path[strings.LastIndexByte(e.Path, '/')+1:]),
			Mode: strconv.FormatUint(uint64(e.Mode), 8), Size: e.Size, Digest: e.Digest, Blob: e.Blob,
		}
	}
	return encodeObject(wire)
}

func encodeObject(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err == nil && len(data) >= maxListing {
		err = fmt.Errorf("a listing of %d bytes is too long", len(data))
	}
	return append(data, '\n'), err
}

// decodeObject decodes the output of encodeObject, and refuses anything after it.
func decodeObject(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("something follows after byte %d", d.InputOffset())
	}
	return nil
}

// VersionError says that a newer version wrote a listing.
type VersionError struct {
	Path    string // the path of the listing's object, or its digest
	Version string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("read %s: it was written by a newer version (format version %s is unknown here); upgrade runner", e.Path, e.Version)
}

// decodeListing decodes the object that names the directories. It returns a *VersionError
// for a newer version.
func decodeListing(path string, data []byte) (*wireListing, error) {
	var version struct {
		FormatVersion string `json:"format_version"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, err
	}
	if version.FormatVersion != listingVersion && version.FormatVersion != listingVersionMore {
		return nil, &VersionError{Path: path, Version: version.FormatVersion}
	}
	var wire wireListing
	if err := decodeObject(data, &wire); err != nil {
		return nil, err
	}
	for i := range wire.Sparse {
		wire.Sparse[i].sparse = true
	}
	files := 0
	for _, dirs := range [][]wireDir{wire.Dirs, wire.Sparse} {
		if err := checkDirs(dirs, &files); err != nil {
			return nil, err
		}
	}
	return &wire, nil
}

// checkDirs checks directories, and adds the number of their files to files.
func checkDirs(dirs []wireDir, files *int) error {
	for i, d := range dirs {
		if i > 0 && d.Path <= dirs[i-1].Path {
			return fmt.Errorf("directory %q is out of order", d.Path)
		}
		if d.Path != "" {
			if err := checkEntryPath(string(d.Path)); err != nil {
				return err
			}
		}
		if d.Files <= 0 || d.Files > maxEntries-*files || d.Bytes < 0 {
			return fmt.Errorf("directory %q cannot have %d files of %d bytes", d.Path, d.Files, d.Bytes)
		}
		*files += d.Files
	}
	return nil
}

// allDirs returns the directories, then those of sparse files.
func (l *wireListing) allDirs() []wireDir { return slices.Concat(l.Dirs, l.Sparse) }

// assemble returns the listing. parts are the entries of each directory, in the order of
// all.
func (l *wireListing) assemble(parts [][]Entry) (*Listing, error) {
	return l.listing(concatSorted(parts[:len(l.Dirs)]), concatSorted(parts[len(l.Dirs):]))
}

func concatSorted(parts [][]Entry) []Entry {
	all := slices.Concat(parts...)
	slices.SortFunc(all, byPath)
	return all
}

// listing returns the listing with the given entries and sparse files, both sorted by
// path.
func (l *wireListing) listing(entries, sparse []Entry) (*Listing, error) {
	whole := &Listing{
		Patterns: plainStrings(l.Patterns), LeftOut: plainStrings(l.LeftOut), Unstable: plainStrings(l.Unstable), Special: plainStrings(l.Special),
		Entries: entries, Sparse: sparse,
	}
	return whole, errors.Join(checkTree(whole.Entries), whole.checkSparse())
}

// decode appends the entries of a directory, which it decodes from the directory's object.
func (d *wireDir) decode(data []byte, to []Entry) ([]Entry, error) {
	r := newDirReader(d, len(data), to)
	ok, err := scanFiles(string(data), r.addFile)
	if !ok {
		var wire wireFiles
		if err := decodeObject(data, &wire); err != nil {
			return nil, err
		}
		r = newDirReader(d, len(data), to)
		for i := 0; i < len(wire.Files) && err == nil; i++ {
			err = r.addFile(wire.Files[i])
		}
	}
	if err != nil {
		return nil, err
	}
	return r.finish()
}

// dirReader builds the entries of a directory.
type dirReader struct {
	dir    *wireDir
	prefix string
	paths  strings.Builder // one string that holds all paths
	to     []Entry
	last   text.Text
	files  int
	bytes  int64
}

func newDirReader(d *wireDir, size int, to []Entry) *dirReader {
	r := &dirReader{dir: d, to: to}
	if d.Path != "" {
		r.prefix = string(d.Path) + "/"
	}
	// The count may be false. So the reader reserves no more room than the bytes could
	// fill.
	const typicalName = 16
	most := min(d.Files, size/len(`{"name":"","mode":"","size":0}`))
	r.to = slices.Grow(to, most)
	r.paths.Grow(most * (len(r.prefix) + typicalName))
	return r
}

func (r *dirReader) addFile(f wireFile) error {
	if r.files > 0 && f.Name <= r.last {
		return fmt.Errorf("file %q is out of order", f.Name)
	}
	e, err := f.toEntry()
	if err != nil {
		return err
	}
	begin := r.paths.Len()
	r.paths.WriteString(r.prefix)
	r.paths.WriteString(string(f.Name))
	e.Path = r.paths.String()[begin:]
	if r.dir.sparse {
		err = e.checkSparse()
	} else {
		err = e.validate()
	}
	r.to, r.last = append(r.to, e), f.Name
	r.files++
	r.bytes += e.Size
	return err
}

func (r *dirReader) finish() ([]Entry, error) {
	if r.files != r.dir.Files {
		return nil, fmt.Errorf("it has %d files, not %d", r.files, r.dir.Files)
	}
	if r.bytes != r.dir.Bytes {
		return nil, fmt.Errorf("its files have %d bytes, not %d", r.bytes, r.dir.Bytes)
	}
	return r.to, nil
}

// toEntry returns the entry of the file, without its path.
func (f *wireFile) toEntry() (Entry, error) {
	if strings.Contains(string(f.Name), "/") {
		return Entry{}, fmt.Errorf("%q is not the name of a file", f.Name)
	}
	mode, err := strconv.ParseUint(f.Mode, 8, 32)
	if err != nil || len(f.Mode) > 1 && f.Mode[0] == '0' {
		return Entry{}, fmt.Errorf("%q: %q is not a mode", f.Name, f.Mode)
	}
	return Entry{Mode: uint32(mode), Size: f.Size, Digest: f.Digest, Blob: f.Blob}, nil
}
