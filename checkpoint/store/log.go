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

// MaxRecord is the maximum length of a record that can be read, with its newline.
const MaxRecord = 64 << 20

// ErrClosed says that a log accepts no more records: it was closed, or an append failed.
var ErrClosed = errors.New("the log takes no more records")

// ErrLogChanged says that the file of a log changed since the last append. A record that is
// appended now would be lost with a deleted file, or follow another process's record.
var ErrLogChanged = errors.New("the file was moved, deleted, replaced or written to by somebody else")

// Log is an append log of records. A record is a line.
//
// When Append has returned nil, this record and all before it survive a power cut. After a
// failed write or fsync the state of the disk is unknown, so that the log accepts nothing
// more: every further Append returns an error that is ErrClosed.
type Log interface {
	// Append adds one record, whose last byte must be its only newline. It returns
	// ErrLogChanged if, before or after writing, the file is not at its path or has an
	// unexpected length.
	Append(record []byte) error
	// Records yields the records from the beginning. Only the last one can be without a
	// newline. A missing log is empty. A record is valid until the next one is yielded.
	Records() iter.Seq2[Record, error]
	// Replace atomically replaces the log by the given records, and continues behind them.
	// It adds no newline to a record without one.
	Replace(records iter.Seq2[Record, error]) error
	Close() error
}

// Record is a line of a log.
type Record struct {
	Line   int   // from 1
	Offset int64 // of its first byte in the file
	Data   []byte
	Torn   bool // without a newline, or longer than MaxRecord
}

// OpenLog returns the log in the file at path. The first Append opens the file, or creates
// it.
func OpenLog(fsys FS, path string) Log { return &fileLog{fs: fsys, path: path} }

type fileLog struct {
	fs           FS
	path         string
	file         File
	info         fs.FileInfo // of the open file
	size         int64       // expected length; valid once file or replacement is set
	replacement  fs.FileInfo // the file that Replace wrote, or nil
	nameUnsynced bool        // the name in the directory may not be durable
	failed       error
}

func (l *fileLog) Append(record []byte) error {
	if l.failed != nil {
		return l.failed
	}
	if err := l.append(record); err != nil {
		l.closeFailed(err)
		return fmt.Errorf("append to %s: %w", l.path, err)
	}
	return nil
}

func (l *fileLog) append(record []byte) error {
	if l.file == nil {
		if err := l.openFile(); err != nil {
			return err
		}
	}
	if err := l.checkUnchanged(); err != nil {
		return err
	}
	if n, err := l.file.Write(record); err != nil {
		return err
	} else if n < len(record) {
		return io.ErrShortWrite
	}
	l.size += int64(len(record))
	if err := l.syncFile(); err != nil {
		return err
	}
	return l.checkUnchanged()
}

// syncFile makes the content durable and, if needed, the name.
func (l *fileLog) syncFile() error {
	if !l.nameUnsynced {
		return l.file.Sync()
	}
	both := []func() error{l.file.Sync, func() error { return l.fs.SyncDir(filepath.Dir(l.path)) }}
	_, err := concurrently(len(both), func(i int) error { return both[i]() })
	l.nameUnsynced = err != nil
	return err
}

func (l *fileLog) openFile() error {
	f, err := l.fs.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, FilePerm)
	if err != nil {
		return err
	}
	l.file = f
	l.info, err = f.Stat()
	switch {
	case err != nil:
		return err
	case l.replacement == nil:
		l.size = l.info.Size()
	case !Same(l.replacement, l.info):
		return ErrLogChanged
	default: // Replace made the name durable
		return nil
	}
	l.nameUnsynced = true
	return nil
}

// checkUnchanged returns ErrLogChanged if the path does not lead to the open file, or its
// length is not the expected one. It costs one Lstat.
func (l *fileLog) checkUnchanged() error {
	named, err := l.fs.Lstat(l.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!Same(l.info, named) || named.Size() != l.size) {
		return ErrLogChanged
	}
	return err
}

// closeFailed closes the log after an error, without another sync. The error of Close adds
// nothing.
func (l *fileLog) closeFailed(cause error) {
	l.failed = fmt.Errorf("%w: %w", ErrClosed, cause)
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
		defer func() { _ = f.Close() }()
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
	if l.failed != nil {
		return l.failed
	}
	if err := l.replace(records); err != nil {
		l.closeFailed(err)
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
	l.replacement, l.size = made, made.Size()
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
	if l.failed == nil {
		l.failed = ErrClosed
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
