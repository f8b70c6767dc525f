// Package report reads what the processes of an attempt report, while they write it.
//
//	file → Reader.Read → Batch → Follower → the run loop
//
// The file is the one that RUNNER_REPORT names, or the log of the attempt: in a log only
// the lines that begin with Prefix are reports. A Reader reads on from where it stopped; a
// Follower calls it from a goroutine of its own until the attempt has ended.
//
// Package ledger, in checkpoint, says what a line may be and what it leads to. This
// package knows files and lines only; package runner masks, admits and records the
// reports. Begin with Reader.
package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"prdrunner/checkpoint/ledger"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/workspace"
)

// Prefix begins the lines of standard output that are reports, if a workstream reports
// there.
const Prefix = "::runner::"

// Stdout is the value of RUNNER_REPORT of a workstream that reports on standard output.
const Stdout = "-"

const (
	// maxChunk is how many bytes one call of Read reads.
	maxChunk = 256 << 10
	// maxTotal is how many bytes of reports are read of one attempt.
	maxTotal = 64 << 20
	// maxRefusals is how many refusals of one attempt are listed.
	maxRefusals = 100
)

// Batch is what one call of Read has read.
type Batch struct {
	Lines   int // how many lines have been read in all, these included
	Reports []Numbered
	Refused []state.RefusedReports
}

// Numbered is a report, and the number of its line.
type Numbered struct {
	Line int
	ledger.Report
}

// IsEmpty reports whether no line was read.
func (b *Batch) IsEmpty() bool { return len(b.Reports)+len(b.Refused) == 0 }

// Refuse adds a refused line. Consecutive lines that are refused for the same reason are
// one entry.
func (b *Batch) Refuse(line int, reason string) {
	if last := len(b.Refused) - 1; last >= 0 {
		if r := &b.Refused[last]; string(r.Reason) == reason && r.Line+r.More+1 == line {
			r.More++
			return
		}
	}
	b.Refused = append(b.Refused, state.RefusedReports{Line: line, Reason: state.Text(reason)})
}

// Reader reads the lines of a file that grows. It is not safe for concurrent use.
type Reader struct {
	path   string
	prefix string // only lines that begin with it are reports
	skip   int    // lines that an earlier run has recorded

	file     *os.File
	buffer   []byte
	offset   int64
	rest     []byte // the beginning of a line whose end is not written yet
	tooLong  bool   // the line under way is too long and is passed over
	line     int
	total    int
	refusals int
	closed   bool // nothing more is read
}

// NewReader returns a reader of the file that RUNNER_REPORT names. It passes over the
// first lines, which have been read before.
func NewReader(path string, skip int) *Reader { return &Reader{path: path, skip: skip} }

// NewLogReader returns a reader of the reports in a log.
func NewLogReader(path string) *Reader { return &Reader{path: path, prefix: Prefix} }

// Read returns the complete lines that were written since the last call, at most about
// 256 KiB of them, and whether there may be more. With last it takes an incomplete line at
// the end of the file, too. If there is no file, it returns an empty batch.
func (r *Reader) Read(last bool) (b Batch, more bool) {
	data, more, err := r.chunk()
	if err != nil {
		r.closed = true
		b.Refuse(r.line+1, err.Error())
	}
	for {
		line, after, complete := bytes.Cut(data, []byte("\n"))
		if !complete {
			break
		}
		r.take(&b, line)
		data = after
	}
	r.keep(data)
	if last && !more && (len(r.rest) > 0 || r.tooLong) {
		r.take(&b, nil)
	}
	b.Lines = r.line
	return b, more && !r.closed
}

// keep keeps the beginning of a line until its end is written.
func (r *Reader) keep(data []byte) {
	r.rest = append(r.rest, data...)
	if len(r.rest) > ledger.MaxLine+len(r.prefix) {
		r.tooLong = r.tooLong || strings.HasPrefix(string(r.rest[:len(r.prefix)]), r.prefix)
		if r.prefix == "" || r.tooLong {
			r.rest = r.rest[:0]
		} else {
			r.rest = r.rest[:len(r.prefix)] // a long line of the log that is no report
		}
	}
}

// take handles one line, whose beginning may be in r.rest.
func (r *Reader) take(b *Batch, end []byte) {
	line, tooLong := end, r.tooLong
	if len(r.rest) > 0 {
		line = append(r.rest, end...)
	}
	r.rest, r.tooLong = nil, false
	if !tooLong {
		text, isReport := bytes.CutPrefix(line, []byte(r.prefix))
		if line = bytes.TrimSpace(text); !isReport || len(line) == 0 && r.prefix == "" {
			if isReport {
				r.line++
			}
			return
		}
	}
	if r.line++; r.line <= r.skip {
		return
	}
	if r.total += len(line); r.total > maxTotal {
		r.closed = true
		b.Refuse(r.line, fmt.Sprintf("the attempt has reported more than %d MiB: nothing more is read", maxTotal>>20))
		return
	}
	var report ledger.Report
	err := fmt.Errorf("it is longer than %d KiB", ledger.MaxLine>>10)
	if !tooLong {
		report, err = ledger.Parse(line)
	}
	switch {
	case err == nil:
		b.Reports = append(b.Reports, Numbered{Line: r.line, Report: report})
	case r.refusals == maxRefusals:
		r.refusals++
		b.Refuse(r.line, "further lines that are refused are not listed")
	case r.refusals < maxRefusals:
		r.refusals++
		b.Refuse(r.line, err.Error())
	}
}

// chunk reads on in the file. more says that the file has not been read to its end.
func (r *Reader) chunk() (data []byte, more bool, err error) {
	if r.closed {
		return nil, false, nil
	}
	info, err := os.Lstat(r.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && r.file == nil:
		return nil, false, nil
	case err == nil && !info.Mode().IsRegular():
		return nil, false, errors.New("RUNNER_REPORT is not a regular file any more: nothing more is read")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, false, fmt.Errorf("it can't be read: %w", err)
	}
	if r.file == nil {
		if r.file, err = os.OpenFile(r.path, os.O_RDONLY|workspace.NonBlock, 0); err != nil {
			return nil, false, fmt.Errorf("it can't be read: %w", err)
		}
	}
	opened, err := r.file.Stat()
	if err != nil {
		return nil, false, fmt.Errorf("it can't be read: %w", err)
	}
	switch {
	case opened.Size() < r.offset: // it was truncated
		r.offset, r.rest, r.tooLong = 0, nil, false
	case opened.Size() == r.offset:
		return nil, r.replaced(opened, info), nil
	}
	if r.buffer == nil {
		r.buffer = make([]byte, maxChunk)
	}
	n, err := r.file.ReadAt(r.buffer, r.offset)
	r.offset += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, fmt.Errorf("it can't be read: %w", err)
	}
	return r.buffer[:n], true, nil
}

// replaced reports whether another file has taken the name of the file that was read to its
// end. Then the other file is read next.
func (r *Reader) replaced(opened, now fs.FileInfo) bool {
	if now == nil || os.SameFile(now, opened) {
		return false
	}
	_ = r.file.Close()
	r.file, r.offset = nil, 0
	return true
}

// Close closes the file.
func (r *Reader) Close() {
	if r.file != nil {
		_ = r.file.Close()
	}
	r.file, r.closed = nil, true
}
