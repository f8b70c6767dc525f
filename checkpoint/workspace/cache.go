package workspace

import (
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

// sums are the digests of a file's bytes.
type sums struct {
	sha  [32]byte
	blob string // git's name, binary; "" where nobody asked for it
}

type cached struct {
	stat fileStat
	sums sums
	read int64 // when it was read; 0: by an earlier process
	used bool  // seen by this process, so that the file is known to be there
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
type cache struct {
	fs   store.FS
	path string // "": not kept beyond this process
	root string // the workspace's absolute path
	boot string
	now  func() time.Time

	surveyed atomic.Bool // what was not used is probably gone

	once sync.Once // of loading
	skew sync.Once // of measuring

	mu      sync.Mutex
	entries map[string]cached
	refused map[string]string // digests of files that were left out for what they hold
	behind  time.Duration     // how far the file system's clock is behind ours
	changed bool              // since it was loaded or saved
}

func newCache(o Options) *cache {
	c := &cache{fs: o.FS, root: filepath.Clean(o.Dir), boot: bootID(), now: time.Now}
	if o.FS != nil && c.boot != "" {
		c.path = o.Cache
	}
	return c
}

// get returns the digests of a file, if they are known; withBlob: and git's
// name of it is.
func (c *cache) get(path string, stat fileStat, withBlob bool) (sums, bool) {
	c.once.Do(c.load)
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[path]
	if !ok || e.stat != stat || withBlob && e.sums.blob == "" {
		return sums{}, false
	}
	if !e.used {
		e.used = true
		c.entries[path] = e
	}
	return e.sums, true
}

// put remembers the digests of a file that nobody wrote to while it was read,
// from the given moment on.
func (c *cache) put(path string, stat fileStat, s sums, began time.Time) {
	c.once.Do(c.load)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !settled(stat, began.Add(-c.behind)) {
		if _, ok := c.entries[path]; ok {
			delete(c.entries, path)
			c.changed = true
		}
		return
	}
	c.entries[path] = cached{stat: stat, sums: s, read: began.UnixNano(), used: true}
	c.changed = true
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behind = max(0, c.now().Sub(info.ModTime()))
}
