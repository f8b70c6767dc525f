package tree

import (
	"iter"
	"maps"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"prdrunner/checkpoint/store"
)

// FileStat tells one content of a file from another without reading it. Times are
// nanoseconds since 1970.
type FileStat struct {
	Size          int64
	Mtime, Ctime  int64
	Inode, device uint64
}

// Sums are the digests of a file's bytes, and what its ACL says.
type Sums struct {
	Digest   string
	Blob     string // git's name; "" where nobody asked for it
	MaskOnly uint32 // permission bits that its mode shows for its group, and that the group does not have
}

// cached is what a reading of a file found.
type cached struct {
	path string
	stat FileStat
	sums Sums
	read int64 // when it was read; 0: by an earlier process
}

// How much older than the moment of reading a file's times must be: the tick
// of the kernel's clock is at most 10 ms, and there are file systems that
// count seconds, in twos.
const (
	fineMargin   = 20 * time.Millisecond
	coarseMargin = 2 * time.Second
)

// Cache remembers the digests of files by what stat says of them.
//
// A file that is written twice within a tick of the clock keeps its times. So the cache
// remembers only files that were read later than a tick after their times, and younger
// ones are read again. After a restart of the machine it remembers nothing: a power cut
// may change a file and not its times.
//
// A program that writes through a memory map changes a file's times when it first touches
// a page, and again only after the kernel has written that page to the disk. The cache,
// like git, does not notice such a write. Callers that are about to overwrite or remove a
// file call Distrust before.
type Cache struct {
	fs   store.FS
	path string // "": not kept beyond this process
	root string // the workspace's absolute path
	boot string
	Now  func() time.Time

	surveyed atomic.Bool // all files were looked up: entries not used are probably of removed files

	once sync.Once // of loading
	skew sync.Once // of measuring

	// Callers ask for files in the order of their paths, and far more often than they
	// add one. So the loaded entries are a list that never changes.
	known knownFiles    // as loaded
	used  []atomic.Bool // which of them this process asked for
	grown atomic.Bool   // whether since has anything

	mu      sync.Mutex
	since   map[string]cached // entries of this process, by path, in place of loaded ones; without digest: nothing is known
	refused map[string]string // digests of files that were excluded for their content, by path
	behind  time.Duration     // how far the file system's clock is behind the machine's
	changed bool              // since it was loaded or saved
}

// NewCache returns a cache of the files below dir. It is kept in the file at path of
// fsys; with none of the two it serves this process only.
func NewCache(fsys store.FS, path, dir string) *Cache {
	c := &Cache{fs: fsys, root: filepath.Clean(dir), boot: bootID(), Now: time.Now}
	if fsys != nil && c.boot != "" {
		c.path = path
	}
	return c
}

// LoadOnce reads the file, unless that was done.
func (c *Cache) LoadOnce() { c.once.Do(c.load) }

// MarkSurveyed says that all files were looked up: those that were not are probably gone.
func (c *Cache) MarkSurveyed() { c.surveyed.Store(true) }

// Get returns the digests of a file, if they are known, and with withBlob only if git's
// name of the blob is known, too. near is the probable index of the file among the loaded
// ones; Get sets it to that of the next file.
func (c *Cache) Get(path string, stat FileStat, withBlob bool, near *int) (Sums, bool) {
	c.LoadOnce()
	if e, better := c.learned(path); better {
		if e.sums.Digest == "" || e.stat != stat || withBlob && e.sums.Blob == "" {
			return Sums{}, false
		}
		return e.sums, true
	}
	i, there := c.known.find(path, *near)
	*near = i
	if !there {
		return Sums{}, false
	}
	*near++
	e := c.known.at(i)
	if e.stat != stat || withBlob && len(e.blob) == 0 {
		return Sums{}, false
	}
	if !c.used[i].Load() {
		c.used[i].Store(true)
	}
	return e.sums(), true
}

// learned returns the entry that this process has in place of a loaded one.
func (c *Cache) learned(path string) (e cached, ok bool) {
	if !c.grown.Load() {
		return cached{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok = c.since[path]
	return e, ok
}

// Put remembers the digests of a file that nobody wrote to while it was read,
// from the given moment on.
func (c *Cache) Put(path string, stat FileStat, s Sums, began time.Time) {
	c.LoadOnce()
	c.mu.Lock()
	defer c.mu.Unlock()
	if settled(stat, began.Add(-c.behind)) {
		c.learn(cached{path: path, stat: stat, sums: s, read: began.UnixNano()})
	} else {
		c.forget(path)
	}
}

// IsSettled is settled at a moment of our own clock.
func (c *Cache) IsSettled(stat FileStat, at time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return settled(stat, at.Add(-c.behind))
}

// learn sets an entry. The caller holds c.mu.
func (c *Cache) learn(e cached) {
	c.since[e.path] = e
	c.grown.Store(true)
	c.changed = true
}

// forget drops the entry of a file. The caller holds c.mu.
func (c *Cache) forget(path string) {
	e, better := c.since[path]
	_, there := c.known.find(path, 0)
	if better && e.sums.Digest != "" || there && !better {
		c.learn(cached{path: path})
	}
}

// Distrust drops what is known of files.
func (c *Cache) Distrust(paths []string) {
	c.LoadOnce()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, path := range paths {
		c.forget(path)
	}
}

// all yields all entries, in no order. The caller holds c.mu.
func (c *Cache) all() iter.Seq[cached] {
	return func(yield func(cached) bool) {
		for i := range c.known.begins {
			e := c.known.at(i).cached()
			if _, better := c.since[e.path]; !better && !yield(e) {
				return
			}
		}
		for _, e := range c.since {
			if e.sums.Digest != "" && !yield(e) {
				return
			}
		}
	}
}

// settled reports whether every write to a file after the given time changes its times.
func settled(stat FileStat, at time.Time) bool {
	margin := fineMargin
	if stat.Mtime%int64(time.Second) == 0 && stat.Ctime%int64(time.Second) == 0 {
		margin = coarseMargin
	}
	return at.UnixNano()-max(stat.Mtime, stat.Ctime) > int64(margin)
}

// Measure compares the file system's clock with ours, by a file that it makes
// beside the cache. Only what changes the state directory anyway calls it; on
// a local disk the two clocks are one.
func (c *Cache) Measure() {
	if c.path == "" {
		return
	}
	c.skew.Do(func() {
		f, name, err := store.CreateTemp(c.fs, c.path)
		if err != nil {
			return
		}
		c.compare(f)
		_ = f.Close()
		_ = c.fs.Remove(name) // a leftover is removed under the next lock
	})
}

// compare measures the lag by the time of a file that was just made.
func (c *Cache) compare(f store.File) {
	info, err := f.Stat()
	if err != nil || info.Sys() == nil { // one that is in memory has no clock
		return
	}
	c.SetClockLag(max(0, c.Now().Sub(info.ModTime())))
}

// SetClockLag says how far the file system's clock is behind ours.
func (c *Cache) SetClockLag(lag time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behind = lag
}

// Refuse remembers what a file holds that was left out for that.
func (c *Cache) Refuse(path, digest string) {
	c.LoadOnce()
	c.mu.Lock()
	defer c.mu.Unlock()
	if digest != "" && c.refused[path] != digest {
		c.refused[path], c.changed = digest, true
	}
}

// RefusedFiles returns the digests of files that were refused for what they held, by path.
func (c *Cache) RefusedFiles() map[string]string {
	c.LoadOnce()
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.refused)
}
