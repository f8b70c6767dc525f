package store

import (
	"bufio"
	"errors"
	"io"
)

// Lines reads the records of a log from a file that may still grow: after
// io.EOF, Next may be called again.
type Lines struct {
	r      *bufio.Reader
	buf    []byte // of the line so far
	line   int
	offset int64
	ended  bool // buf was given out
}

// NewLines returns a reader of the records in r.
func NewLines(r io.Reader) *Lines { return &Lines{r: bufio.NewReaderSize(r, 1<<16)} }

// Next returns the next record, or io.EOF. A record that is cut off is
// returned as a torn one; when more of it is there, the next call returns it
// again.
func (l *Lines) Next() (Record, error) {
	if l.ended {
		l.offset += int64(len(l.buf))
		l.line++
		l.buf, l.ended = l.buf[:0], false
	}
	grown := false
	for {
		part, err := l.r.ReadSlice('\n')
		grown = grown || len(part) > 0
		if len(l.buf) == 0 && err == nil { // the usual case: no copy
			return l.whole(part), nil
		}
		l.buf = append(l.buf, part...)
		switch {
		case err == nil:
			return l.whole(l.buf), nil
		case len(l.buf) > MaxRecord:
			return l.torn(), nil
		case errors.Is(err, io.EOF):
			if len(l.buf) == 0 || !grown {
				return Record{}, io.EOF
			}
			return l.torn(), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return Record{}, err
		}
	}
}

func (l *Lines) whole(data []byte) Record {
	l.ended = true
	r := Record{Line: l.line + 1, Offset: l.offset, Data: data, Torn: len(data) > MaxRecord}
	if len(l.buf) == 0 {
		// Advance by the length of what lies in the reader's own buffer.
		l.offset += int64(len(data))
		l.line++
		l.ended = false
	}
	return r
}

func (l *Lines) torn() Record {
	return Record{Line: l.line + 1, Offset: l.offset, Data: l.buf, Torn: true}
}
