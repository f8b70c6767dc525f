package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// maxRescues bounds the number of rescue copies of one session.
const maxRescues = 100

// RescueDir is the directory of rescue copies. A rescue copy holds commits that could
// not be written to their journal. The next owner of the session adds them to it.
type RescueDir struct {
	FS   store.FS
	Path string
}

// Rescue is a rescue copy that belongs to a journal. The zero value is none.
type Rescue struct {
	Path  string
	Lines [][]byte // the lines that the journal lacks
}

func (d RescueDir) pathOf(prd, session string, n int) string {
	name := fmt.Sprintf("runner-rescue-%s-%s.jsonl", disk.EncodeName(prd), disk.EncodeName(session))
	if n > 0 {
		name = fmt.Sprintf("runner-rescue-%s-%s.%d.jsonl", disk.EncodeName(prd), disk.EncodeName(session), n)
	}
	return filepath.Join(d.Path, name)
}

// Write writes a new rescue copy with commits that the journal of a session could not take,
// and returns its path. The first commit continues the journal.
func (d RescueDir) Write(prd, session string, commits []*state.Commit) (string, error) {
	path, err := d.freePath(prd, session)
	if err != nil {
		return "", err
	}
	var data []byte
	e := NewEncoder()
	for i, c := range commits {
		if i > 0 {
			c.Prev = commits[i-1].Sum
		}
		line, err := e.Line(c)
		if err != nil {
			return "", err
		}
		data = append(data, line...)
	}
	if err := store.MkdirAll(d.FS, d.Path); err != nil {
		return "", err
	}
	return path, store.WriteFile(d.FS, path, data)
}

// freePath returns the first path for a rescue copy of a session that is not in use.
func (d RescueDir) freePath(prd, session string) (string, error) {
	for n := range maxRescues {
		path := d.pathOf(prd, session, n)
		_, err := d.FS.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", fmt.Errorf("write a rescue copy: %w", err)
		}
	}
	return "", fmt.Errorf("write a rescue copy: %s holds too many", d.Path)
}

// Find looks for a rescue copy that continues a journal, which ends with t. The copy has a
// path but no lines if the write that failed brought them all to disk nevertheless. Find
// reads only files that belong to this user.
func (d RescueDir) Find(prd, session string, t Tail) (Rescue, error) {
	var found Rescue
	for n := range maxRescues {
		path := d.pathOf(prd, session, n)
		info, err := d.FS.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return Rescue{}, fmt.Errorf("look for a rescue copy: %w", err)
		}
		if !info.Mode().IsRegular() || disk.IsForeign(info) {
			continue
		}
		data, err := store.ReadFile(d.FS, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // an owner adopted it in the meantime
		}
		if err != nil {
			return Rescue{}, fmt.Errorf("read the rescue copy: %w", err)
		}
		lines, all := continuing(data, t)
		if len(lines) > 0 {
			return Rescue{path, lines}, nil
		}
		if all {
			found = Rescue{Path: path}
		}
	}
	return found, nil
}

// continuing returns the lines of a rescue copy that follow the end of the journal. Lines
// before these are in the journal already, because the failing write brought them to disk.
// It returns no lines if the chain of checksums breaks or a line can't be in a journal.
// had reports that the journal ends with the copy's last line.
func continuing(data []byte, t Tail) (lines [][]byte, had bool) {
	for line := range bytes.Lines(data) {
		next, err := t.Next(store.Record{Data: line, Torn: len(line) > store.MaxRecord || !bytes.HasSuffix(line, []byte("\n"))})
		if err != nil {
			if len(lines) > 0 {
				return nil, false
			}
			had = endsWith(line, t)
			continue
		}
		t.Accept(next, len(line))
		lines = append(lines, line)
	}
	return lines, had
}

// Replay visits the commits of a rescue copy that the next owner adds to the journal of a
// session, which ends with t. It advances t, and returns the path of the copy, "" if there
// is none.
func (d RescueDir) Replay(prd, session string, t *Tail, visit func(state.Commit) error) (string, error) {
	r, err := d.Find(prd, session, *t)
	if err != nil || len(r.Lines) == 0 {
		return "", err
	}
	return r.Path, r.Visit(prd, t, visit)
}

// Visit visits the commits of the copy, which follow t, and advances t.
func (r Rescue) Visit(prd string, t *Tail, visit func(state.Commit) error) error {
	for _, line := range r.Lines {
		c, err := t.Next(store.Record{Data: line})
		if err == nil {
			err = visit(c)
		}
		if err != nil {
			return Explain(prd, r.Path, 0, err)
		}
		t.Accept(c, len(line))
	}
	return nil
}

// endsWith reports whether line is the last one of the journal that ends with t.
func endsWith(line []byte, t Tail) bool {
	f, err := ParseFrame(bytes.TrimSuffix(line, []byte("\n")), "")
	return err == nil && f.Seq == t.Seq && f.Sum == t.Sum
}
