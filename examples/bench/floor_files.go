package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"prdrunner/checkpoint/store"
)

// syncs bounds how many files are fsynced at the same time.
const syncs = 32

// openFile opens a file in the same way as Runner.
func openFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	opened, err := store.OS().OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	f, ok := opened.(*os.File)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s is opened as a %T", name, opened), opened.Close())
	}
	return f, nil
}

// expected holds the expected marks of the files in a directory.
type expected struct {
	files map[string]mark // by name; nil: any files
	only  bool            // compare only the sizes
}

// walkTrees lists each directory of some trees once, in as many goroutines as there are CPUs,
// stats each file, and returns the number of files. of returns what to expect in a
// directory; if of is nil, any files are right.
func walkTrees(of func(dir string) expected, trees ...string) (files int, err error) {
	var met atomic.Int64
	looked := newLimit(runtime.NumCPU())
	for dirs := trees; len(dirs) > 0 && looked.err == nil; {
		below := make([][]string, len(dirs))
		var wg sync.WaitGroup
		for i, dir := range dirs {
			looked.do(&wg, func() error {
				var known expected
				if of != nil {
					known = of(dir)
				}
				files, dirs, err := lookInto(dir, known)
				below[i] = dirs
				met.Add(int64(files))
				return err
			})
		}
		wg.Wait()
		dirs = slices.Concat(below...)
	}
	return int(met.Load()), looked.err
}

// lookInto stats the files in a directory. It returns the number of files and the
// subdirectories.
func lookInto(dir string, known expected) (files int, dirs []string, err error) {
	f, err := openFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	entries, err := f.ReadDir(-1) // unlike os.ReadDir, this does not sort the entries
	if err != nil {
		return 0, nil, err
	}
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
			continue
		}
		is, err := lookAtName(f, e.Name())
		if was, there := known.files[e.Name()]; err == nil && known.files != nil && (!there || was != is && (!known.only || was.size != is.size)) {
			err = fmt.Errorf("%s is not as it was", filepath.Join(dir, e.Name()))
		}
		if err != nil {
			return 0, nil, err
		}
		files++
	}
	return files, dirs, nil
}

// mark holds the metadata that tells whether a file changed, without reading it. Times are
// nanoseconds since 1970.
type mark struct {
	size         int64
	mtime, ctime int64
	inode        uint64
}

// copyTree copies the files of a tree to new files, in as many goroutines as there are CPUs.
// Other goroutines fsync the copies meanwhile, and at last the directories. It hashes each
// file, because FORMAT.md requires that: a file is stored under its digest, and verified
// when it is restored. It does not compare the digests.
func copyTree(from, to string) ([]copied, error) {
	var files []copied
	var dirs []string
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err == nil && d.IsDir() {
			dirs = append(dirs, filepath.Join(to, rel))
			return os.Mkdir(filepath.Join(to, rel), 0o755)
		}
		files = append(files, copied{path: rel})
		return err
	})
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	durable := newLimit(syncs)
	reading := newLimit(runtime.NumCPU())
	buffers := sync.Pool{New: func() any { return new([copyBuffer]byte) }}
	for i := range files {
		reading.do(&wg, func() error {
			buf := buffers.Get().(*[copyBuffer]byte)
			defer buffers.Put(buf)
			f, err := files[i].copy(from, to, buf[:])
			if err == nil {
				durable.do(&wg, func() error { return errors.Join(f.Sync(), f.Close()) })
			}
			return err
		})
	}
	wg.Wait()
	for _, dir := range dirs {
		durable.do(&wg, func() error { return syncDir(dir) })
	}
	wg.Wait()
	return files, errors.Join(reading.err, durable.err)
}

// copyBuffer is how many bytes are read, hashed and written at a time.
const copyBuffer = 256 << 10

// copied is a file of a tree that was copied.
type copied struct {
	path   string // relative to the tree
	size   int64
	digest []byte
}

// copy copies a file from one directory to another and hashes it. If the file system can
// do that, the copy shares the bytes of the file. The caller must sync and close the
// returned copy.
func (c *copied) copy(from, to string, buf []byte) (*os.File, error) {
	in, err := openFile(filepath.Join(from, c.path), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // the file was only read
	out, err := openFile(filepath.Join(to, c.path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	sha := sha256.New()
	into := io.Writer(sha)
	if !store.Clone(out, in) {
		into = io.MultiWriter(into, out)
	}
	// The wrappers hide ReadFrom and WriteTo, so that io.CopyBuffer uses buf.
	if c.size, err = io.CopyBuffer(struct{ io.Writer }{into}, struct{ io.Reader }{in}, buf); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	c.digest = sha.Sum(nil)
	return out, nil
}

func syncDir(dir string) error {
	f, err := openFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// removeAllBut removes all files except the last one from each directory that matches a
// pattern, and makes that durable.
func removeAllBut(pattern string) error {
	dirs, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries[:max(0, len(entries)-1)] {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// limit runs functions in goroutines, at most a fixed number at the same time.
type limit struct {
	slots chan struct{}
	mu    sync.Mutex
	err   error // the errors of all functions, joined
}

func newLimit(n int) *limit { return &limit{slots: make(chan struct{}, n)} }

// do runs a function in a goroutine of a group. It waits until fewer than the maximum are
// running.
func (l *limit) do(wg *sync.WaitGroup, what func() error) {
	l.slots <- struct{}{}
	wg.Go(func() {
		defer func() { <-l.slots }()
		if err := what(); err != nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.err = errors.Join(l.err, err)
		}
	})
}
