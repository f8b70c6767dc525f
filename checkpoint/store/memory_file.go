package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
)

// memoryFile is an open file of a Memory.
type memoryFile struct {
	fs     *Memory
	node   *node
	name   string
	flag   int
	offset int64
	closed bool
}

func (f *memoryFile) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.offset)
	f.offset += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (f *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed || f.flag&os.O_WRONLY != 0 {
		return 0, f.pathError("read", fs.ErrInvalid)
	}
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) Write(p []byte) (int, error) {
	if f.flag&os.O_APPEND != 0 {
		return f.writeAt(p, -1)
	}
	n, err := f.writeAt(p, f.offset)
	f.offset += int64(n)
	return n, err
}

func (f *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	if f.flag&os.O_APPEND != 0 {
		return 0, f.pathError("write", fs.ErrInvalid)
	}
	return f.writeAt(p, off)
}

// writeAt writes p at an offset, or appends it if off is negative.
func (f *memoryFile) writeAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed || f.flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return 0, f.pathError("write", fs.ErrInvalid)
	}
	n := f.node
	if off < 0 {
		off = int64(len(n.data))
	}
	if n.dataShared && int(off) < len(n.data) {
		n.data, n.synced, n.dataShared = slices.Clone(n.data), slices.Clone(n.synced), false
	}
	if grow := off + int64(len(p)) - int64(len(n.data)); grow > 0 {
		n.data = append(n.data, make([]byte, grow)...)
	}
	copy(n.data[off:], p)
	n.dirty = min(n.dirty, int(off))
	f.fs.markChanged(n)
	return len(p), nil
}

func (f *memoryFile) Stat() (fs.FileInfo, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return describe(f.name, f.node), nil
}

func (f *memoryFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed {
		return f.pathError("sync", fs.ErrClosed)
	}
	// Most writes append, so that Sync copies only the bytes from dirty on.
	n := f.node
	if n.dataShared && n.dirty < len(n.synced) {
		n.synced = slices.Clone(n.synced)
	}
	n.synced = append(n.synced[:n.dirty], n.data[n.dirty:]...)
	n.dirty, n.truncated = len(n.data), false
	return nil
}

func (f *memoryFile) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed {
		return f.pathError("close", fs.ErrClosed)
	}
	f.closed = true
	return nil
}

func (f *memoryFile) pathError(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

// TryLock implements FS. As with flock, the lock belongs to the file and not to its name.
// It ends with the process, which Crash stands for.
func (m *Memory) TryLock(name string, shared bool) (Lock, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.openNode(name, os.O_RDONLY|os.O_CREATE, FilePerm)
	if err == nil && (n.locked || !shared && n.shared > 0) {
		err = ErrLocked
	}
	if err != nil {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	if shared {
		n.shared++
	} else {
		n.locked = true
	}
	return &memoryLock{fs: m, name: name, node: n, shared: shared}, nil
}

type memoryLock struct {
	fs     *Memory
	name   string
	node   *node
	shared bool
	done   bool
}

func (l *memoryLock) Check() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	if n, err := l.fs.lookup(l.name); err != nil || n != l.node {
		return &fs.PathError{Op: "check the lock", Path: l.name, Err: ErrLockLost}
	}
	return nil
}

func (l *memoryLock) Unlock() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	if l.done {
		return nil
	}
	l.done = true
	if l.shared {
		l.node.shared--
	} else {
		l.node.locked = false
	}
	return nil
}
