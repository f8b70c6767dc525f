package workspace

import (
	"iter"
	"maps"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"prdrunner/checkpoint/store"
)

// fileStat is what tells one content of a file from another without reading
// it. Times are nanoseconds since 1970.
type fileStat struct {
	size          int64
	mtime, ctime  int64
	inode, device uint64
}

// sums are the digests of a file's bytes, and what its ACL says, which was read with
// them.
type sums struct {
	digest   string
	blob     string // git's name; "" where nobody asked for it
	maskOnly uint32 // permission bits that its mode shows for its group, and that the group does not have
}

// cached is what was found when a file was read.
type cached struct {
	path string
	stat fileStat
	sums sums
	read int64 // when it was read; 0: by an earlier process
}

// How much older than the moment of reading a file's times must be: the tick
// of the kernel's clock is at most 10 ms, and there are file systems that
// count seconds, in twos.
const (
	fineMargin   = 20 * time.Millisecond
	coarseMargin = 2 * time.Second
)

// cache remembers the digests of files by what stat says of them.
//
// A file that is written to twice within a tick of the clock has the same
// times afterwards, so that only what was read later than that tick is
// remembered; anything younger is read again the next time. After a restart of
// the machine nothing is: what a power cut left may differ though its times
// are equal.
//
// What writes to a file through a memory map changes its times when it first
// touches a page, and again only once the kernel has written that page to the
// disk. Such a write after the file was read is not seen, here as in git; who is
// about to destroy bytes distrusts what is known of them.
type cache struct {
	fs   store.FS
	path string // "": not kept beyond this process
	root string // the workspace's absolute path
	boot string
	now  func() time.Time

	surveyed atomic.Bool // what was not used is probably gone

	once sync.Once // of loading
	skew sync.Once // of measuring

	// Files are asked for in the order of their paths, many times more often than
	// anything is learned, so that what was loaded is a list that nobody changes.
	known knownFiles    // as loaded
	used  []atomic.Bool // of these, seen by this process, so that the file is known to be there
	grown atomic.Bool   // whether since has anything

	mu      sync.Mutex
	since   map[string]cached // what this process knows better, by path; without digest: that nothing is known
	refused map[string]string // digests of files that were left out for what they hold
	behind  time.Duration     // how far the file system's clock is behind ours
	changed bool              // since it was loaded or saved
}

// newCache returns a cache of the files below dir. It is kept in the file at path of
// fsys; with none of the two it serves this process only.
func newCache(fsys store.FS, path, dir string) *cache {
	c := &cache{fs: fsys, root: filepath.Clean(dir), boot: bootID(), now: time.Now}
	if fsys != nil && c.boot != "" {
		c.path = path
	}
	return c
}

// loadOnce reads the file, unless that was done.
func (c *cache) loadOnce() { c.once.Do(c.load) }

// markSurveyed says that all files were looked up: those that were not are probably gone.
func (c *cache) markSurveyed() { c.surveyed.Store(true) }

// get returns the digests of a file, if they are known; withBlob: and git's
// name of it is. near is where the file is probably found among those that are
// known, and becomes where the next one in order is.
func (c *cache) get(path string, stat fileStat, withBlob bool, near *int) (sums, bool) {
	c.loadOnce()
	if e, better := c.learned(path); better {
		if e.sums.digest == "" || e.stat != stat || withBlob && e.sums.blob == "" {
			return sums{}, false
		}
		return e.sums, true
	}
	i, there := c.known.find(path, *near)
	*near = i
	if !there {
		return sums{}, false
	}
	*near++
	e := c.known.at(i)
	if e.stat != stat || withBlob && len(e.blob) == 0 {
		return sums{}, false
	}
	if !c.used[i].Load() {
		c.used[i].Store(true)
	}
	return e.sums(), true
}

// learned returns what this process knows better than what was loaded.
func (c *cache) learned(path string) (e cached, ok bool) {
	if !c.grown.Load() {
		return cached{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok = c.since[path]
	return e, ok
}

// put remembers the digests of a file that nobody wrote to while it was read,
// from the given moment on.
func (c *cache) put(path string, stat fileStat, s sums, began time.Time) {
	c.loadOnce()
	c.mu.Lock()
	defer c.mu.Unlock()
	if settled(stat, began.Add(-c.behind)) {
		c.learn(cached{path: path, stat: stat, sums: s, read: began.UnixNano()})
	} else {
		c.forget(path)
	}
}

// isSettled is settled at a moment of our own clock.
func (c *cache) isSettled(stat fileStat, at time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return settled(stat, at.Add(-c.behind))
}

// learn has an entry stand in place of what was known. The lock is held.
func (c *cache) learn(e cached) {
	c.since[e.path] = e
	c.grown.Store(true)
	c.changed = true
}

// forget drops what is known of a file. The lock is held.
func (c *cache) forget(path string) {
	e, better := c.since[path]
	_, there := c.known.find(path, 0)
	if better && e.sums.digest != "" || there && !better {
		c.learn(cached{path: path})
	}
}

// distrust drops what is known of files.
func (c *cache) distrust(paths []string) {
	c.loadOnce()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, path := range paths {
		c.forget(path)
	}
}

// all yields all that is known, in no order. The lock is held.
func (c *cache) all() iter.Seq[cached] {
	return func(yield func(cached) bool) {
		for i := range c.known.begins {
			e := c.known.at(i).cached()
			if _, better := c.since[e.path]; !better && !yield(e) {
				return
			}
		}
		for _, e := range c.since {
			if e.sums.digest != "" && !yield(e) {
				return
			}
		}
	}
}

// settled reports whether any later write to a file gives it other times.
func settled(stat fileStat, at time.Time) bool {
	margin := fineMargin
	if stat.mtime%int64(time.Second) == 0 && stat.ctime%int64(time.Second) == 0 {
		margin = coarseMargin
	}
	return at.UnixNano()-max(stat.mtime, stat.ctime) > int64(margin)
}

// measure compares the file system's clock with ours, by a file that it makes
// beside the cache. Only what changes the state directory anyway calls it; on
// a local disk the two clocks are one.
func (c *cache) measure() {
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

// compare takes the time from a file that was just made.
func (c *cache) compare(f store.File) {
	info, err := f.Stat()
	if err != nil || info.Sys() == nil { // one that is in memory has no clock
		return
	}
	c.SetClockLag(max(0, c.now().Sub(info.ModTime())))
}

// SetClockLag says how far the file system's clock is behind ours.
func (c *cache) SetClockLag(lag time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behind = lag
}

// refuse remembers what a file holds that was left out for that.
func (c *cache) refuse(path, digest string) {
	c.loadOnce()
	c.mu.Lock()
	defer c.mu.Unlock()
	if digest != "" && c.refused[path] != digest {
		c.refused[path], c.changed = digest, true
	}
}

// refusedFiles returns the digests of files that were refused for what they held, by path.
func (c *cache) refusedFiles() map[string]string {
	c.loadOnce()
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.refused)
}
