// Package statcache caches the digests of files by their stat, so that an unchanged file is
// not read again.
//
// It knows files only by path and stat: which files there are belongs in package tree, and
// which digests a capture needs in package workspace.
//
// Begin with New, which returns a Cache. Get and Put look up and record one file,
// Invalidate drops files that are about to be overwritten, and Save writes the cache to
// the state directory. StatOf returns the Stat of a file.
package statcache

import (
	"iter"
	"maps"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"prdrunner/checkpoint/store"
)

// Stat tells whether the content of a file may have changed, without reading it. Times
// are nanoseconds since 1970.
type Stat struct {
	Size          int64
	Mtime, Ctime  int64
	Inode, device uint64
}

// Sums hold the digests of a file's bytes, and the effect of its ACL on its mode.
type Sums struct {
	Digest   string
	Blob     string // git's name of the bytes; "": not computed
	MaskOnly uint32 // permission bits that the mode shows for the group but that the group does not have
}

// entry is the cache's entry of a file.
type entry struct {
	path string
	stat Stat
	sums Sums
	read int64 // when this process read it; 0: an earlier process did
}

// The margins by which a file's times must precede the time at which it is read. The tick
// of the kernel's clock is at most 10 ms; some file systems count only even seconds.
const (
	fineMargin   = 20 * time.Millisecond
	coarseMargin = 2 * time.Second
)

// Cache holds the digests of files by their stat.
//
// A file that is written twice within a tick of the clock keeps its times. So the cache
// holds only files that were read later than a tick after their times, and younger files
// are read again. After a restart of the machine the cache is empty: a power cut may
// change a file and not its times.
//
// A program that writes through a memory map changes a file's times when it first touches
// a page, and again only after the kernel has written that page to the disk. The cache,
// like git, does not notice such a write. Callers that are about to overwrite or remove a
// file must call Invalidate before.
type Cache struct {
	fs   store.FS
	path string // "": the cache is not saved
	root string // the absolute path of the workspace
	boot string
	Now  func() time.Time

	surveyed atomic.Bool // all files were looked up: entries that Get has not returned probably belong to removed files

	loadOnce    sync.Once // loads the file
	measureOnce sync.Once // measures the clock lag

	// Callers look up files in the order of their paths, far more often than they add
	// one. So the loaded entries are a list that never changes.
	loaded       loadedFiles   // the loaded entries
	returned     []atomic.Bool // the loaded entries that Get has returned
	hasOverrides atomic.Bool   // whether overrides has entries

	mu        sync.Mutex
	overrides map[string]entry  // entries of this process, by path, which replace loaded ones; without digest: dropped
	excluded  map[string]string // digests of files that were excluded for their content, or excludedForName, by path
	clockLag  time.Duration     // how far the file system's clock is behind the machine's
	changed   bool              // whether there are changes since the cache was loaded or saved
}

// New returns a cache of the files below dir. It is saved in the file at path of
// fsys. If either is not given, the cache serves only this process.
func New(fsys store.FS, path, dir string) *Cache {
	c := &Cache{fs: fsys, root: filepath.Clean(dir), boot: bootID(), Now: time.Now}
	if fsys != nil && c.boot != "" {
		c.path = path
	}
	return c
}

// LoadOnce reads the cache file on its first call.
func (c *Cache) LoadOnce() { c.loadOnce.Do(c.load) }

// MarkSurveyed says that the caller has looked up all files of the workspace. Files that
// were not looked up are probably gone.
func (c *Cache) MarkSurveyed() { c.surveyed.Store(true) }

// Get returns the digests of a file if they are known. With withBlob, git's name of the
// bytes must be known, too. near is the probable index of the file among the loaded
// entries; Get sets it to that of the next file.
func (c *Cache) Get(path string, stat Stat, withBlob bool, near *int) (Sums, bool) {
	c.LoadOnce()
	if e, better := c.lookupOverride(path); better {
		if e.sums.Digest == "" || e.stat != stat || withBlob && e.sums.Blob == "" {
			return Sums{}, false
		}
		return e.sums, true
	}
	i, there := c.loaded.findPath(path, *near)
	*near = i
	if !there {
		return Sums{}, false
	}
	*near++
	e := c.loaded.fileAt(i)
	if e.stat != stat || withBlob && len(e.blob) == 0 {
		return Sums{}, false
	}
	if !c.returned[i].Load() {
		c.returned[i].Store(true)
	}
	return e.decodeSums(), true
}

// lookupOverride returns the entry of this process that replaces a loaded one.
func (c *Cache) lookupOverride(path string) (e entry, ok bool) {
	if !c.hasOverrides.Load() {
		return entry{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok = c.overrides[path]
	return e, ok
}

// Put adds the digests of a file that no process changed while it was read. began is the
// time at which reading began.
func (c *Cache) Put(path string, stat Stat, s Sums, began time.Time) {
	c.LoadOnce()
	c.mu.Lock()
	defer c.mu.Unlock()
	if laterWritesVisible(stat, began.Add(-c.clockLag)) {
		c.setEntry(entry{path: path, stat: stat, sums: s, read: began.UnixNano()})
	} else {
		c.dropEntry(path)
	}
}

// LaterWritesVisible reports whether every write to a file after at changes its times. at
// is a time of this machine's clock, which may differ from the file system's.
func (c *Cache) LaterWritesVisible(stat Stat, at time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return laterWritesVisible(stat, at.Add(-c.clockLag))
}

// setEntry sets an entry. The caller holds c.mu.
func (c *Cache) setEntry(e entry) {
	c.overrides[e.path] = e
	c.hasOverrides.Store(true)
	c.changed = true
}

// dropEntry makes the cache forget a file. The caller holds c.mu.
func (c *Cache) dropEntry(path string) {
	e, better := c.overrides[path]
	_, there := c.loaded.findPath(path, 0)
	if better && e.sums.Digest != "" || there && !better {
		c.setEntry(entry{path: path})
	}
}

// Invalidate drops the entries of files, so that the files are read again.
func (c *Cache) Invalidate(paths []string) {
	c.LoadOnce()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, path := range paths {
		c.dropEntry(path)
	}
}

// entries yields all valid entries, in no order. The caller holds c.mu.
func (c *Cache) entries() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for i := range c.loaded.begins {
			e := c.loaded.fileAt(i).asEntry()
			if _, better := c.overrides[e.path]; !better && !yield(e) {
				return
			}
		}
		for _, e := range c.overrides {
			if e.sums.Digest != "" && !yield(e) {
				return
			}
		}
	}
}

// laterWritesVisible reports whether every write to a file after the given time changes
// its times. The time is one of the file system's clock.
func laterWritesVisible(stat Stat, at time.Time) bool {
	margin := fineMargin
	if stat.Mtime%int64(time.Second) == 0 && stat.Ctime%int64(time.Second) == 0 {
		margin = coarseMargin
	}
	return at.UnixNano()-max(stat.Mtime, stat.Ctime) > int64(margin)
}

// MeasureClockLag compares the file system's clock with this machine's, by a temporary
// file that it makes in the cache's directory. Call it only if the state directory may be
// changed. On a local disk the two clocks are the same.
func (c *Cache) MeasureClockLag() {
	if c.path == "" {
		return
	}
	c.measureOnce.Do(func() {
		f, name, err := store.CreateTemp(c.fs, c.path)
		if err != nil {
			return
		}
		c.measureLag(f)
		_ = f.Close()
		_ = c.fs.Remove(name) // a leftover is removed under the next lock
	})
}

// measureLag sets the clock lag from the time of a file that was just made.
func (c *Cache) measureLag(f store.File) {
	info, err := f.Stat()
	if err != nil || info.Sys() == nil { // a file in memory has no clock
		return
	}
	c.SetClockLag(max(0, c.Now().Sub(info.ModTime())))
}

// SetClockLag sets how far the file system's clock is behind this machine's.
func (c *Cache) SetClockLag(lag time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clockLag = lag
}

// RecordExcluded records the digest of a file that was excluded for its content.
func (c *Cache) RecordExcluded(path, digest string) {
	c.LoadOnce()
	c.mu.Lock()
	defer c.mu.Unlock()
	if digest != "" && c.excluded[path] != digest {
		c.excluded[path], c.changed = digest, true
	}
}

// excludedForName stands in place of the digest of a file that was excluded for its name.
const excludedForName = "name"

// RecordExcludedName records that a file was excluded for its name alone: nothing is known
// of its content.
func (c *Cache) RecordExcludedName(path string) {
	c.LoadOnce()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.excluded[path] == "" {
		c.excluded[path], c.changed = excludedForName, true
	}
}

// WasExcludedForName reports whether a file was excluded, and only for its name.
func (c *Cache) WasExcludedForName(path string) bool {
	c.LoadOnce()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.excluded[path] == excludedForName
}

// ExcludedFiles returns the digests of files that were excluded for their content, by path.
func (c *Cache) ExcludedFiles() map[string]string {
	c.LoadOnce()
	c.mu.Lock()
	defer c.mu.Unlock()
	files := maps.Clone(c.excluded)
	maps.DeleteFunc(files, func(_, digest string) bool { return digest == excludedForName })
	return files
}
