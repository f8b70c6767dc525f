package store

import (
	"bufio"
	"errors"
	"io"
)

// Lines reads the records of a log from a file that may still grow. After io.EOF, Next can
// be called again.
type Lines struct {
	r        *bufio.Reader
	buf      []byte // the current line as far as it was read
	line     int
	offset   int64
	consumed bool // Next returned buf, and must clear it
}

// NewLines returns a reader of the records in r.
func NewLines(r io.Reader) *Lines { return &Lines{r: bufio.NewReaderSize(r, 1<<16)} }

// Next returns the next record, or io.EOF. It returns an incomplete last line as a torn
// record, and returns it again when more bytes are there.
func (l *Lines) Next() (Record, error) {
	if l.consumed {
		l.offset += int64(len(l.buf))
		l.line++
		l.buf, l.consumed = l.buf[:0], false
	}
	grown := false
	for {
		part, err := l.r.ReadSlice('\n')
		grown = grown || len(part) > 0
		if len(l.buf) == 0 && err == nil { // no copy in the usual case
			return l.completeRecord(part), nil
		}
		l.buf = append(l.buf, part...)
		switch {
		case err == nil:
			return l.completeRecord(l.buf), nil
		case len(l.buf) > MaxRecord:
			return l.tornRecord(), nil
		case errors.Is(err, io.EOF):
			if len(l.buf) == 0 || !grown {
				return Record{}, io.EOF
			}
			return l.tornRecord(), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return Record{}, err
		}
	}
}

func (l *Lines) completeRecord(data []byte) Record {
	l.consumed = true
	r := Record{Line: l.line + 1, Offset: l.offset, Data: data, Torn: len(data) > MaxRecord}
	if len(l.buf) == 0 {
		// The data lies in the buffer of the reader, so that the position advances now.
		l.offset += int64(len(data))
		l.line++
		l.consumed = false
	}
	return r
}

func (l *Lines) tornRecord() Record {
	return Record{Line: l.line + 1, Offset: l.offset, Data: l.buf, Torn: true}
}
