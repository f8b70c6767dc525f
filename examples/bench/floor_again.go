package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// The floor of keeping once more what did not change. By FORMAT.md it reads which files
// were kept, verified; looks whether they are as they were, by their times and their
// inodes, too, and by its length at what is kept of each; and leaves records that are
// durable: who is at work, before anything else; the line that is the commit, before what
// is derived from it; the checkpoint's file, the index and the document, each of which
// replaces another one whole; and at last the line of the audit log that says how it ended.
const (
	listExt    = ".list" // behind the name of a directory: which files were kept there
	noteFile   = "note"
	auditFile  = "audit"
	noteSize   = 1024 // bytes, as of each of these: what Runner writes, measured
	auditSize  = 137
	commitSize = 600
	headSize   = 4096
)

// keepTree copies a tree, and lists what it copied.
func keepTree(from, to string) error {
	files, err := copyTree(from, to)
	if err != nil {
		return err
	}
	var list bytes.Buffer
	for _, f := range files {
		dir, name := filepath.Split(filepath.Join(from, f.path))
		at, err := openFile(dir, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		is, err := lookAtName(at, name)
		if err := errors.Join(err, at.Close()); err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x %d %d %d %d %s\n", f.digest, is.size, is.mtime, is.ctime, is.inode, filepath.ToSlash(f.path))
	}
	sum := sha256.Sum256(list.Bytes())
	return replaceAll(".", head{to + listExt, append(list.Bytes(), sum[:]...)})
}

// keepAgain does what must be done where all files are as they were copied.
func keepAgain(from, to string) error {
	if err := writeNote(); err != nil {
		return err
	}
	kept, count, err := readKept(to + listExt)
	if err != nil {
		return err
	}
	met, err := lookAt(func(dir string) expected {
		dir += string(filepath.Separator)
		if below, ok := strings.CutPrefix(dir, from+string(filepath.Separator)); ok {
			return expected{files: kept[below]}
		}
		return expected{files: kept[strings.TrimPrefix(dir, to+string(filepath.Separator))], only: true}
	}, from, to)
	if err == nil && met != 2*count {
		err = fmt.Errorf("there are %d files and copies, not %d", met, 2*count)
	}
	if err != nil {
		return err
	}
	if err := addLine(recordFile, commitSize); err != nil {
		return err
	}
	data := recordLine(headSize)
	if err := replaceAll(".", head{"checkpoint", data}, head{"index", data}, head{"document", data}); err != nil {
		return err
	}
	return addLine(auditFile, auditSize)
}

// addLine adds a line of so many bytes to a file, durably.
func addLine(file string, size int) error {
	f, err := openFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(appendDurably(f, recordLine(size)), f.Close())
}

// writeNote writes who is at work over what it was.
func writeNote() error {
	f, err := openFile(noteFile, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(appendDurably(f, recordLine(noteSize)), f.Close())
}

// readKept reads what each file was that was kept, by its directory and its name, and
// how many they are.
func readKept(list string) (kept map[string]map[string]mark, files int, err error) {
	data, err := os.ReadFile(filepath.Clean(list))
	if err != nil {
		return nil, 0, err
	}
	lines := data[:max(0, len(data)-sha256.Size)]
	if sum := sha256.Sum256(lines); !bytes.Equal(sum[:], data[len(lines):]) {
		return nil, 0, fmt.Errorf("%s is damaged", list)
	}
	kept = map[string]map[string]mark{}
	for line := range strings.Lines(string(lines)) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ") // without the digest: no file is another one
		var numbers [4]uint64
		for i := range numbers {
			var digits string
			digits, rest, _ = strings.Cut(rest, " ")
			if numbers[i], err = strconv.ParseUint(digits, 10, 64); err != nil {
				return nil, 0, err
			}
		}
		dir, name := filepath.Split(filepath.FromSlash(rest))
		if kept[dir] == nil {
			kept[dir] = map[string]mark{}
		}
		kept[dir][name] = mark{size: int64(numbers[0]), mtime: int64(numbers[1]), ctime: int64(numbers[2]), inode: numbers[3]}
		files++
	}
	return kept, files, nil
}

// head is a file that replaces another one.
type head struct {
	name string
	data []byte
}

// replaceAll replaces files of a directory in their order, each whole, and makes that
// durable.
func replaceAll(dir string, heads ...head) error {
	written := newLimit(syncs)
	var wg sync.WaitGroup
	for _, h := range heads {
		written.do(&wg, func() error {
			f, err := openFile(filepath.Join(dir, h.name+".new"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
			if err != nil {
				return err
			}
			return errors.Join(appendDurably(f, h.data), f.Close())
		})
	}
	wg.Wait()
	if written.err != nil {
		return written.err
	}
	for _, h := range heads {
		name := filepath.Join(dir, h.name)
		if err := os.Rename(name+".new", name); err != nil {
			return err
		}
	}
	return syncDir(dir)
}
