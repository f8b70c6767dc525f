// Package stream reads what the steps of a run print, line by line, while they print it.
//
// The processes of workstreams, gates and services write their own logs, so this package reads
// the logs as they grow. Which logs there are it learns from the events of the run. How the lines
// look is the matter of package view; what a workstream declares as its result, of package outputs.
//
// Begin with Reader. It starts no goroutine: the caller says when to look.
package stream

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/runner"
)

const (
	// maxLine is the longest line in bytes. A longer one is divided.
	maxLine = 64 << 10
	// maxPoll is how many bytes of a log one call of Poll reads, so that a step that prints without
	// end does not hold up what the caller has to do besides.
	maxPoll = 1 << 20
	// maxRest is how many bytes are read at the end of an attempt: the run waits for that.
	maxRest = 64 << 20
)

// Line is a line that a step has printed.
type Line struct {
	Step    string // as in Attempt
	Attempt int
	Log     string // the name of the log's file; "" for the line that says that not all of it is read
	Text    string // without the end of the line
	GoesOn  bool   // the line is longer, and the next one of the step has more of it
}

// Reader reads the logs of the steps that run. It is not safe for use by several goroutines.
type Reader struct {
	dir    string // of the logs
	logs   []*log // in the order in which the steps began
	buffer []byte
}

// New returns a Reader of the logs in a directory.
func New(dir string) *Reader { return &Reader{dir: dir} }

// log is the log of an attempt that runs.
type log struct {
	Attempt
	path  string
	file  *os.File // nil until the process has made it
	begun []byte   // a line that has no end yet, or the rest of it
	quiet Quiet    // as calls of Poll find it

	goesOn bool // the line that was emitted last has no end yet
}

// Apply takes note of an event. If the event ends an attempt, Apply calls emit with the lines that
// no call of Poll has read, so a caller can print them before it shows the event.
func (r *Reader) Apply(e state.Event, emit func(Line)) {
	if a, begins := Begins(e); begins {
		r.end(a.Log, emit) // the attempt before did not say that it ended
		r.logs = append(r.logs, &log{Attempt: a, path: filepath.Join(r.dir, disk.LogName(a.Log, a.Number))})
		return
	}
	if name := Ends(e); name != "" {
		r.end(name, emit)
	}
}

// Poll calls emit with the whole lines that were added to the logs since the last call, as far as
// they are few enough to be read at once. A line that has had no end for a while is emitted, too. now is the
// time of the call.
func (r *Reader) Poll(now time.Time, emit func(Line)) {
	for _, l := range r.logs {
		grew := r.read(l, maxPoll, emit) > 0
		if l.quiet.Long(now, grew) && len(l.begun) > 0 {
			l.emit(l.begun, true, emit)
			l.begun = l.begun[:0]
		}
	}
}

// Close calls emit with the lines that are left, and closes the logs. The Reader can be used for
// what begins later.
func (r *Reader) Close(emit func(Line)) {
	for _, l := range r.logs {
		r.finish(l, emit)
	}
	r.logs = nil
}

// end reads the rest of the log of a step, if one is read.
func (r *Reader) end(name string, emit func(Line)) {
	for i, l := range r.logs {
		if l.Log == name {
			r.finish(l, emit)
			r.logs = append(r.logs[:i], r.logs[i+1:]...)
			return
		}
	}
}

// finish reads the rest of a log. A last line without an end counts.
func (r *Reader) finish(l *log, emit func(Line)) {
	r.read(l, maxRest, emit)
	if len(l.begun) > 0 || l.goesOn {
		l.emit(l.begun, false, emit)
		l.begun = nil
	}
	if l.more() {
		emit(Line{Step: l.Step, Attempt: l.Number, Text: fmt.Sprintf("… more than is shown here; %s has everything", filepath.Base(l.path))})
	}
	if l.file != nil {
		_ = l.file.Close() // it was only read
	}
}

// read reads what was added to a log, at most limit bytes, and returns how many it has read. It
// passes over a log that can't be read.
func (r *Reader) read(l *log, limit int64, emit func(Line)) (size int64) {
	if l.file == nil {
		file, err := runner.OpenLog(l.path)
		if err != nil {
			return 0
		}
		l.file = file
	}
	if r.buffer == nil {
		r.buffer = make([]byte, maxLine)
	}
	for size < limit {
		n, err := l.file.Read(r.buffer)
		l.split(r.buffer[:n], emit)
		size += int64(n)
		if n == 0 || err != nil {
			break
		}
	}
	return size
}

// more reports whether there is something to read.
func (l *log) more() bool {
	if l.file == nil {
		return false
	}
	info, err := l.file.Stat()
	at, seekErr := l.file.Seek(0, io.SeekCurrent)
	return err == nil && seekErr == nil && info.Size() > at
}

// split emits the lines that end in b, and keeps the rest.
func (l *log) split(b []byte, emit func(Line)) {
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		if !whole && len(l.begun)+len(line) <= maxLine {
			l.begun = append(l.begun, line...)
			return
		}
		if len(l.begun) > 0 {
			line = append(l.begun, line...)
		}
		l.emit(line, !whole, emit)
		l.begun, b = l.begun[:0], rest
	}
}

func (l *log) emit(line []byte, goesOn bool, emit func(Line)) {
	l.goesOn = goesOn
	emit(Line{Step: l.Step, Attempt: l.Number, Log: filepath.Base(l.path), Text: string(bytes.TrimSuffix(line, []byte("\r"))), GoesOn: goesOn})
}
