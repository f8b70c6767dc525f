package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/journal"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// maxRescues bounds the number of rescue copies of one session.
const maxRescues = 100

func (s *Store) rescuePath(prd, session string, n int) string {
	name := fmt.Sprintf("runner-rescue-%s-%s.jsonl", disk.EncodeName(prd), disk.EncodeName(session))
	if n > 0 {
		name = fmt.Sprintf("runner-rescue-%s-%s.%d.jsonl", disk.EncodeName(prd), disk.EncodeName(session), n)
	}
	return filepath.Join(s.o.RescueDir, name)
}

// writeRescue writes commits that the journal could not take to a rescue copy in another
// directory. The first commit continues the journal. If this session wrote a copy before,
// own is its path, and the copy is replaced. Other rescue copies are not overwritten.
func (s *Store) writeRescue(prd, session, own string, commits []*state.Commit) (string, error) {
	path := own
	for n := 0; path == ""; n++ {
		if n == maxRescues {
			return "", fmt.Errorf("write a rescue copy: %s holds too many", s.o.RescueDir)
		}
		p := s.rescuePath(prd, session, n)
		there, err := s.layout.Exists(p)
		if err != nil {
			return "", fmt.Errorf("write a rescue copy: %w", err)
		}
		if !there {
			path = p
		}
	}
	var data []byte
	e := journal.NewEncoder()
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
	if err := store.MkdirAll(s.fs, s.o.RescueDir); err != nil {
		return "", err
	}
	return path, store.WriteFile(s.fs, path, data)
}

// findRescue looks for a rescue copy that continues a journal, and returns the lines that
// the journal lacks. It returns no lines, but the path, if the write that failed brought
// them all to disk nevertheless. It reads only files that belong to this user.
func (s *Store) findRescue(prd, session string, t journal.Tail) (path string, lines [][]byte, err error) {
	had := ""
	for n := range maxRescues {
		path := s.rescuePath(prd, session, n)
		info, err := s.fs.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return "", nil, fmt.Errorf("look for a rescue copy: %w", err)
		}
		if !info.Mode().IsRegular() || disk.IsForeign(info) {
			continue
		}
		data, err := store.ReadFile(s.fs, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // an owner adopted it in the meantime
		}
		if err != nil {
			return "", nil, fmt.Errorf("read the rescue copy: %w", err)
		}
		lines, all := continuing(data, t)
		if len(lines) > 0 {
			return path, lines, nil
		}
		if all {
			had = path
		}
	}
	return had, nil, nil
}

// continuing returns the lines of a rescue copy that follow the end of the journal. Lines
// before these are in the journal already, because the failing write brought them to disk.
// It returns no lines if the chain of checksums breaks or a line can't be in a journal.
// had reports that the journal ends with the copy's last line.
func continuing(data []byte, t journal.Tail) (lines [][]byte, had bool) {
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

// rescued visits the commits of a rescue copy that the next owner adds to the journal of a
// session, which ends with t. It returns the path of the copy, "" if there is none.
func (s *Store) rescued(prd, session string, t *journal.Tail, visit func(state.Commit) error) (string, error) {
	path, lines, err := s.findRescue(prd, session, *t)
	if err != nil || len(lines) == 0 {
		return "", err
	}
	return path, applyRescued(prd, path, t, lines, visit)
}

// applyRescued visits the lines of the rescue copy at path, which follow t, and advances t.
func applyRescued(prd, path string, t *journal.Tail, lines [][]byte, visit func(state.Commit) error) error {
	for _, line := range lines {
		c, err := t.Next(store.Record{Data: line})
		if err == nil {
			err = visit(c)
		}
		if err != nil {
			return journal.Explain(prd, path, 0, err)
		}
		t.Accept(c, len(line))
	}
	return nil
}

// endsWith reports whether line is the last one of the journal that ends with t.
func endsWith(line []byte, t journal.Tail) bool {
	f, err := journal.ParseFrame(bytes.TrimSuffix(line, []byte("\n")), "")
	return err == nil && f.Seq == t.Seq && f.Sum == t.Sum
}
