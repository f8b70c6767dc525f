// Package faults has file systems for tests. On Killed no change succeeds after the nth
// operation, as if the process had been killed. On Faulty and FailingOnce an operation
// fails. WatchCuts collects the states that a power cut can leave.
package faults

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"prdrunner/checkpoint/store"
)

// Killed is a file system that refuses every change from the one numbered At on, as if the
// process had been killed there.
type Killed struct {
	store.FS
	At     int64        // counted from 1; 0: never
	Count  atomic.Int64 // changes so far
	Before func()       // called before the change numbered At
	Each   func()       // called before each change, one call at a time
	mu     sync.Mutex
}

func (d *Killed) countChange() bool {
	n := d.Count.Add(1)
	if d.Each != nil {
		d.mu.Lock()
		d.Each()
		d.mu.Unlock()
	}
	if n == d.At && d.Before != nil {
		d.Before()
	}
	return d.At > 0 && n >= d.At
}

func (d *Killed) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE) != 0 && d.countChange() {
		return nil, ErrDisk
	}
	f, err := d.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &killedFile{f, d}, nil
}

func (d *Killed) Mkdir(name string, perm fs.FileMode) error {
	if d.countChange() {
		return ErrDisk
	}
	return d.FS.Mkdir(name, perm)
}

func (d *Killed) Rename(from, to string) error {
	if d.countChange() {
		return ErrDisk
	}
	return d.FS.Rename(from, to)
}

func (d *Killed) Link(from, to string) error {
	if d.countChange() {
		return ErrDisk
	}
	return d.FS.Link(from, to)
}

func (d *Killed) Symlink(target, name string) error {
	if d.countChange() {
		return ErrDisk
	}
	return d.FS.Symlink(target, name)
}

func (d *Killed) Remove(name string) error {
	if d.countChange() {
		return ErrDisk
	}
	return d.FS.Remove(name)
}

func (d *Killed) SyncDir(name string) error {
	if d.countChange() {
		return ErrDisk
	}
	return d.FS.SyncDir(name)
}

type killedFile struct {
	store.File
	d *Killed
}

func (f *killedFile) Write(p []byte) (int, error) {
	if f.d.countChange() {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, ErrDisk
	}
	return f.File.Write(p)
}

func (f *killedFile) WriteAt(p []byte, at int64) (int, error) {
	if f.d.countChange() {
		return 0, ErrDisk
	}
	return f.File.WriteAt(p, at)
}

func (f *killedFile) Sync() error {
	if f.d.countChange() {
		return ErrDisk
	}
	return f.File.Sync()
}

// ErrDisk is the error of every operation that fails in this package.
var ErrDisk = errors.New("input/output error")

// Faulty is a file system on which one kind of operation fails while On is set.
type Faulty struct {
	store.FS
	On   atomic.Bool
	Op   string       // open, write, sync, close, rename or syncdir
	Part string       // it fails for paths that contain this text
	Most int32        // how many times it fails; 0: always
	Used atomic.Int32 // how many times it has been tried
}

func (f *Faulty) countFailure(op, name string) bool {
	if !f.On.Load() || op != f.Op || !strings.Contains(name, f.Part) {
		return false
	}
	used := f.Used.Add(1)
	return f.Most == 0 || used <= f.Most
}

func (f *Faulty) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if f.countFailure("open", name) {
		return nil, ErrDisk
	}
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: file, fs: f, name: name}, nil
}

func (f *Faulty) Rename(from, to string) error {
	if f.countFailure("rename", to) {
		return ErrDisk
	}
	return f.FS.Rename(from, to)
}

func (f *Faulty) Link(from, to string) error {
	if f.countFailure("rename", to) {
		return ErrDisk
	}
	return f.FS.Link(from, to)
}

func (f *Faulty) SyncDir(name string) error {
	if f.countFailure("syncdir", name) {
		return ErrDisk
	}
	return f.FS.SyncDir(name)
}

type faultyFile struct {
	store.File
	fs   *Faulty
	name string
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if f.fs.countFailure("write", f.name) {
		n, _ := f.File.Write(p[:len(p)/2]) // a full disk writes only a part
		return n, ErrDisk
	}
	return f.File.Write(p)
}

func (f *faultyFile) Sync() error {
	if f.fs.countFailure("sync", f.name) {
		return ErrDisk
	}
	return f.File.Sync()
}

func (f *faultyFile) Close() error {
	err := f.File.Close()
	if f.fs.countFailure("close", f.name) {
		return ErrDisk
	}
	return err
}

// FailingOnce is a file system on which only the operation numbered At fails. Operations
// that read and that write count.
type FailingOnce struct {
	store.FS
	At    int64        // counted from 1
	Count atomic.Int64 // operations so far
}

func (f *FailingOnce) countOperation() bool { return f.Count.Add(1) == f.At }

func (f *FailingOnce) OpenFile(name string, flag int, perm fs.FileMode) (store.File, error) {
	if f.countOperation() {
		return nil, ErrDisk
	}
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &onceFile{file, f}, nil
}

func (f *FailingOnce) Mkdir(name string, perm fs.FileMode) error {
	if f.countOperation() {
		return ErrDisk
	}
	return f.FS.Mkdir(name, perm)
}

func (f *FailingOnce) Link(from, to string) error {
	if f.countOperation() {
		return ErrDisk
	}
	return f.FS.Link(from, to)
}

func (f *FailingOnce) Symlink(target, name string) error {
	if f.countOperation() {
		return ErrDisk
	}
	return f.FS.Symlink(target, name)
}

func (f *FailingOnce) Lstat(name string) (fs.FileInfo, error) {
	if f.countOperation() {
		return nil, ErrDisk
	}
	return f.FS.Lstat(name)
}

func (f *FailingOnce) Rename(from, to string) error {
	if f.countOperation() {
		return ErrDisk
	}
	return f.FS.Rename(from, to)
}

func (f *FailingOnce) Remove(name string) error {
	if f.countOperation() {
		return ErrDisk
	}
	return f.FS.Remove(name)
}

func (f *FailingOnce) SyncDir(name string) error {
	if f.countOperation() {
		return ErrDisk
	}
	return f.FS.SyncDir(name)
}

func (f *FailingOnce) ReadDir(name string) ([]fs.DirEntry, error) {
	if f.countOperation() {
		return nil, ErrDisk
	}
	return f.FS.ReadDir(name)
}

type onceFile struct {
	store.File
	fs *FailingOnce
}

func (f *onceFile) Read(p []byte) (int, error) {
	if f.fs.countOperation() {
		return 0, ErrDisk
	}
	return f.File.Read(p)
}

func (f *onceFile) Write(p []byte) (int, error) {
	if f.fs.countOperation() {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, ErrDisk
	}
	return f.File.Write(p)
}

func (f *onceFile) Sync() error {
	if f.fs.countOperation() {
		return ErrDisk
	}
	return f.File.Sync()
}
