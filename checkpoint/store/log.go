package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
)

// MaxRecord bounds the length of a record that is read, newline included.
const MaxRecord = 64 << 20

// ErrClosed says that a log can take no more records: it was closed, or an
// earlier append failed.
var ErrClosed = errors.New("the log takes no more records")

// ErrLogChanged says that a log is not as it was left: what is appended to it
// would be lost with its name, or stand behind what somebody else wrote.
var ErrLogChanged = errors.New("the file was moved, deleted, replaced or written to by somebody else")

// Log is an append log of records; a record is a line.
//
// What Append has returned nil for is there after a power cut, and so is all
// that was appended before it. After a failed write or sync nobody knows what
// is on disk, so that a Log must take nothing more: every later Append gives
// an error that is ErrClosed.
type Log interface {
	// Append adds one record, whose last byte must be its only newline. It is
	// ErrLogChanged where the log has lost its name, or is longer or shorter
	// than it was left, before the record is in it or by the time it is.
	Append(record []byte) error
	// Records yields what is in the log, from its beginning. Only the last one
	// can be without its newline. A log that does not exist is empty. The
	// record is valid until the next one.
	Records() iter.Seq2[Record, error]
	// Replace puts a log of the given records in place of this one, whole or
	// not at all, and goes on behind it. A record without newline gets none.
	Replace(records iter.Seq2[Record, error]) error
	Close() error
}

// Record is a line of a log.
type Record struct {
	Line   int   // from 1
	Offset int64 // of its first byte
	Data   []byte
	Torn   bool // without a newline at its end, or longer than MaxRecord
}

// OpenLog returns the log in the file of the given path. The file is opened,
// and made, with the first Append.
func OpenLog(fsys FS, path string) Log { return &fileLog{fs: fsys, path: path} }

type fileLog struct {
	fs   FS
	path string
	file File
	held fs.FileInfo // of the open file, and so of no other
	size int64       // that it has, once it is open or was replaced
	made fs.FileInfo // what it was replaced with; nil if it was not
	bare bool        // its name may not be durable
	bad  error
}

func (l *fileLog) Append(record []byte) error {
	if l.bad != nil {
		return l.bad
	}
	if err := l.append(record); err != nil {
		l.fail(err)
		return fmt.Errorf("append to %s: %w", l.path, err)
	}
	return nil
}

func (l *fileLog) append(record []byte) error {
	if l.file == nil {
		if err := l.open(); err != nil {
			return err
		}
	}
	if err := l.check(); err != nil {
		return err
	}
	if n, err := l.file.Write(record); err != nil {
		return err
	} else if n < len(record) {
		return io.ErrShortWrite
	}
	l.size += int64(len(record))
	if err := l.sync(); err != nil {
		return err
	}
	return l.check()
}

// sync makes durable what was written and, where that is not known to be, the name.
func (l *fileLog) sync() error {
	if !l.bare {
		return l.file.Sync()
	}
	both := []func() error{l.file.Sync, func() error { return l.fs.SyncDir(filepath.Dir(l.path)) }}
	_, err := sideBySide(len(both), func(i int) error { return both[i]() })
	l.bare = err != nil
	return err
}

func (l *fileLog) open() error {
	f, err := l.fs.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, FilePerm)
	if err != nil {
		return err
	}
	l.file = f
	l.held, err = f.Stat()
	switch {
	case err != nil:
		return err
	case l.made == nil:
		l.size = l.held.Size()
	case !Same(l.made, l.held):
		return ErrLogChanged
	default: // the name was made durable with it
		return nil
	}
	l.bare = true
	return nil
}

// check is ErrLogChanged once the open file is not what was left under the
// name. It costs one look at the file's description.
func (l *fileLog) check() error {
	named, err := l.fs.Lstat(l.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!Same(l.held, named) || named.Size() != l.size) {
		return ErrLogChanged
	}
	return err
}

// fail closes the log for good. The descriptor is closed without another sync,
// and what closing it says adds nothing.
func (l *fileLog) fail(cause error) {
	l.bad = fmt.Errorf("%w: %w", ErrClosed, cause)
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}

func (l *fileLog) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		f, err := OpenRegular(l.fs, l.path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer func() { _ = f.Close() }() // only read from
		lines := NewLines(f)
		for {
			r, err := lines.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Record{}, fmt.Errorf("read %s: %w", l.path, err))
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (l *fileLog) Replace(records iter.Seq2[Record, error]) error {
	if l.bad != nil {
		return l.bad
	}
	if err := l.replace(records); err != nil {
		l.fail(err)
		return fmt.Errorf("replace %s: %w", l.path, err)
	}
	return nil
}

func (l *fileLog) replace(records iter.Seq2[Record, error]) error {
	f, temp, err := CreateTemp(l.fs, l.path)
	if err != nil {
		return err
	}
	err = copyRecords(f, records)
	if err == nil {
		err = f.Sync()
	}
	var made fs.FileInfo
	if err == nil {
		made, err = f.Stat()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = l.fs.Remove(temp)
		return err
	}
	if l.file != nil {
		old := l.file
		l.file = nil
		if err := old.Close(); err != nil {
			return err
		}
	}
	if err := l.fs.Rename(temp, l.path); err != nil {
		return err
	}
	l.made, l.size = made, made.Size()
	return l.fs.SyncDir(filepath.Dir(l.path))
}

func copyRecords(w io.Writer, records iter.Seq2[Record, error]) error {
	b := bufio.NewWriterSize(w, 1<<16)
	for r, err := range records {
		if err != nil {
			return err
		}
		if _, err := b.Write(r.Data); err != nil {
			return err
		}
	}
	return b.Flush()
}

func (l *fileLog) Close() error {
	if l.bad == nil {
		l.bad = ErrClosed
	}
	if l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	if err := f.Close(); err != nil {
		return fmt.Errorf("close %s: %w", l.path, err)
	}
	return nil
}
