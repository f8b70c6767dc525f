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
// were kept, verified; looks at each of them, and by its length at what is kept of it; and
// leaves records that are durable: who is at work, before anything else; the line that
// is the commit, before what is derived from it; the checkpoint's file, the index and
// the document, each of which replaces another one whole; and at last the line of the audit
// log that says how it ended.
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
		fmt.Fprintf(&list, "%x %d %s\n", f.digest, f.size, filepath.ToSlash(f.path))
	}
	sum := sha256.Sum256(list.Bytes())
	return replaceAll(".", head{to + listExt, append(list.Bytes(), sum[:]...)})
}

// keepAgain does what must be done where all files are as they were copied.
func keepAgain(from, to string) error {
	if err := writeNote(); err != nil {
		return err
	}
	kept, err := readKept(to + listExt)
	if err != nil {
		return err
	}
	if err := lookAt(func(dir string) map[string]int64 { return kept[pathIn(dir, from, to)] }, from, to); err != nil {
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
	f, err := os.OpenFile(filepath.Clean(file), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(appendDurably(f, recordLine(size)), f.Close())
}

// writeNote writes who is at work over what it was.
func writeNote() error {
	f, err := os.OpenFile(noteFile, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(appendDurably(f, recordLine(noteSize)), f.Close())
}

// readKept reads how long each file is that was kept, by its directory and its name.
func readKept(list string) (map[string]map[string]int64, error) {
	data, err := os.ReadFile(filepath.Clean(list))
	if err != nil {
		return nil, err
	}
	lines := data[:max(0, len(data)-sha256.Size)]
	if sum := sha256.Sum256(lines); !bytes.Equal(sum[:], data[len(lines):]) {
		return nil, fmt.Errorf("%s is damaged", list)
	}
	kept := map[string]map[string]int64{}
	for line := range strings.Lines(string(lines)) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ") // without the digest: no file is another one
		digits, path, _ := strings.Cut(rest, " ")
		size, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return nil, err
		}
		dir, name := filepath.Split(filepath.FromSlash(path))
		if kept[dir] == nil {
			kept[dir] = map[string]int64{}
		}
		kept[dir][name] = size
	}
	return kept, nil
}

// pathIn is the path of a directory in that one of the trees that it lies in, as
// filepath.Split gives it.
func pathIn(dir string, trees ...string) string {
	for _, tree := range trees {
		if rest, ok := strings.CutPrefix(dir, tree+string(filepath.Separator)); ok {
			return rest + string(filepath.Separator)
		}
	}
	return ""
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
			f, err := os.Create(filepath.Join(dir, h.name+".new"))
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
