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

// The floor of a capture of unchanged files does what FORMAT.md requires. It reads and
// verifies the list of captured files. It compares the size, times and inode of each file
// with the list, and the size of each copy. Then it writes durable records: before anything
// else the note that names the process at work; the commit line, before the files that are
// derived from it; the checkpoint file, the index and the document, each of which replaces
// an older file whole; and last the line of the audit log that says how the work ended.
const (
	listExt    = ".list" // added to the name of a directory: the list of the files that were copied there
	noteFile   = "note"
	auditFile  = "audit"
	noteSize   = 1024 // this and the following sizes are in bytes, as measured from Runner
	auditSize  = 137
	commitSize = 600
	headSize   = 4096
)

// keepTree copies a tree and writes the list of the copied files.
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

// keepAgain does the work of a capture in which all files are unchanged since keepTree. It
// returns an error if one has changed.
func keepAgain(from, to string) error {
	if err := writeNote(); err != nil {
		return err
	}
	kept, count, err := readKept(to + listExt)
	if err != nil {
		return err
	}
	met, err := walkTrees(func(dir string) expected {
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

// addLine appends a line of size bytes to a file and fsyncs the file.
func addLine(file string, size int) error {
	f, err := openFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(appendDurably(f, recordLine(size)), f.Close())
}

// writeNote overwrites the note that stands for Runner's note about the process at work,
// and fsyncs it.
func writeNote() error {
	f, err := openFile(noteFile, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(appendDurably(f, recordLine(noteSize)), f.Close())
}

// readKept reads and verifies the list that keepTree wrote. It returns the mark of each
// file, by directory and name, and the number of files.
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
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ") // the digest is not needed, because no file has changed
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

// head is a file that replaces an older file of the same name.
type head struct {
	name string
	data []byte
}

// replaceAll replaces files of a directory in the given order, each whole, and makes that
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
