package workspace

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// The layout of what getdents64 gives of each name (linux/dirent.h): two numbers of 8
// bytes, the length of all that, the kind, and the name, which ends with a NUL.
const (
	direntLength = 16
	direntKind   = 18
	direntName   = 19
)

// entriesOf lists an open directory, in no order. Package os looks at every name of one
// that was opened in a Root, and makes room for each name apart.
func entriesOf(dir *os.File) ([]dirEntry, error) { return entriesAt(int(dir.Fd()), dir.Name()) }

// entriesAt is entriesOf a descriptor.
func entriesAt(fd int, path string) ([]dirEntry, error) {
	var texts []string // of which the names are parts
	var buf [8 << 10]byte
	size := 0
	for {
		n, err := unix.Getdents(fd, buf[:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, &fs.PathError{Op: "readdirent", Path: path, Err: err}
		case n == 0:
			return parseEntries(texts, make([]dirEntry, 0, size), handle{fd})
		}
		texts = append(texts, string(buf[:n]))
		for text := texts[len(texts)-1]; text != ""; text = text[lengthOf(text):] {
			size++
		}
	}
}

// lengthOf is how long the first of some records is.
func lengthOf(records string) int {
	return int(binary.NativeEndian.Uint16([]byte(records[direntLength:direntKind])))
}

// parseEntries appends what is in the records of a directory.
func parseEntries(texts []string, entries []dirEntry, dir handle) ([]dirEntry, error) {
	for _, text := range texts {
		for text != "" {
			kind, name := text[direntKind], text[direntName:lengthOf(text)]
			text = text[lengthOf(text):]
			name, _, _ = strings.Cut(name, "\x00")
			if name == "." || name == ".." {
				continue
			}
			isDir, isLink := kind == unix.DT_DIR, kind == unix.DT_LNK
			if kind == unix.DT_UNKNOWN { // not every file system knows
				is, err := dir.status(name)
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if err != nil {
					return nil, err
				}
				isDir, isLink = is.mode.IsDir(), is.mode&fs.ModeSymlink != 0
			}
			entries = append(entries, dirEntry{name, isDir, isLink})
		}
	}
	return entries, nil
}
