package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/store"
)

// The file of a cache: cacheMagic; the workspace's path and the name of the
// running kernel, each with its length; the number of files that were left out
// for what they held, and of each its path with its length, and the digest; for
// every file its path with its
// length, size, times, number, device and digest, and git's name with its
// length; and at last the SHA-256 of all that. Numbers are varints, but for
// the times, which are 8 bytes, little end first.
const cacheMagic = "runner stat cache 2\n"

// cacheContent is what the file of a cache holds.
type cacheContent struct {
	entries map[string]cached
	refused map[string]string
}

func newCacheContent() cacheContent {
	return cacheContent{entries: map[string]cached{}, refused: map[string]string{}}
}

// load reads the file, if it can be trusted: one that is torn, damaged, of
// another version or of another directory is as good as none. It is called once.
func (c *cache) load() {
	content := newCacheContent()
	if c.path != "" {
		if data, err := store.ReadFile(c.fs, c.path); err == nil {
			if read, ok := c.decode(data); ok {
				content = read
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries, c.refused = content.entries, content.refused
}

// SaveCache writes what was learned of files, if anything was. A failure costs
// time later and nothing else, so that callers may ignore it. What a power cut
// leaves of the file is not trusted, so that it is not synced.
func (w *Workspace) SaveCache() error {
	c := w.cache
	if c.path == "" {
		return nil
	}
	c.once.Do(c.load)
	if !c.isChanged() {
		return nil
	}
	if c.surveyed.Load() {
		if err := w.forgetGone(); err != nil {
			return fmt.Errorf("save the cache: %w", err)
		}
	}
	if err := w.forgetHidden(); err != nil {
		return fmt.Errorf("save the cache: %w", err)
	}
	c.measure()
	if err := c.write(c.encode()); err != nil {
		return fmt.Errorf("save the cache: %w", err)
	}
	return nil
}

func (c *cache) isChanged() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// forgetGone drops the entries of files that are not there any more.
func (w *Workspace) forgetGone() error {
	c := w.cache
	var paths []string
	c.mu.Lock()
	for path, e := range c.entries {
		if !e.used {
			paths = append(paths, path)
		}
	}
	paths = slices.AppendSeq(paths, maps.Keys(c.refused))
	c.mu.Unlock()
	return w.each(context.Background(), len(paths), chunkSize, func(_ context.Context, _ *cursor, i int) error {
		if _, err := w.Lstat(paths[i]); absent(err) {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.entries, paths[i])
			delete(c.refused, paths[i])
		}
		return nil
	})
}

// write replaces the file by a rename, without any sync.
func (c *cache) write(data []byte) error {
	f, name, err := store.CreateTemp(c.fs, c.path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = c.fs.Rename(name, c.path)
	}
	if err != nil {
		return errors.Join(err, c.fs.Remove(name))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = false
	return nil
}

func (c *cache) encode() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	const typical = 160
	b := make([]byte, 0, typical*(len(c.entries)+1))
	b = append(b, cacheMagic...)
	b = appendString(appendString(b, c.root), c.boot)
	b = binary.AppendUvarint(b, uint64(len(c.refused)))
	for path, digest := range c.refused {
		b = appendString(appendString(b, path), digest)
	}
	for path, e := range c.entries {
		if e.read != 0 && !settled(e.stat, time.Unix(0, e.read).Add(-c.behind)) {
			continue
		}
		b = appendString(b, path)
		b = binary.AppendVarint(b, e.stat.size)
		b = binary.LittleEndian.AppendUint64(b, uint64(e.stat.mtime))
		b = binary.LittleEndian.AppendUint64(b, uint64(e.stat.ctime))
		b = binary.AppendUvarint(b, e.stat.inode)
		b = binary.AppendUvarint(b, e.stat.device)
		b = append(b, e.sums.sha[:]...)
		b = appendString(b, e.sums.blob)
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decode reads a file. It is not ok unless all of it can be trusted. What stat
// said before the machine was started is not: there is none of it then.
func (c *cache) decode(data []byte) (content cacheContent, ok bool) {
	body := len(data) - sha256.Size
	if body < len(cacheMagic) || !bytes.HasPrefix(data, []byte(cacheMagic)) {
		return content, false
	}
	if sum := sha256.Sum256(data[:body]); !bytes.Equal(sum[:], data[body:]) {
		return content, false
	}
	// One string for all, of which the paths are parts.
	r := cacheReader{rest: string(data[len(cacheMagic):body])}
	if r.text() != c.root {
		return content, false
	}
	content = newCacheContent()
	sameBoot := r.text() == c.boot
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		path := r.text()
		content.refused[path] = r.text()
	}
	if !sameBoot || r.bad {
		return content, !r.bad
	}
	const typical = 128
	content.entries = make(map[string]cached, len(data)/typical)
	for len(r.rest) > 0 && !r.bad {
		path := r.text()
		e := cached{stat: fileStat{size: r.varint(), mtime: r.fixed(), ctime: r.fixed(), inode: r.uvarint(), device: r.uvarint()}}
		copy(e.sums.sha[:], r.take(len(e.sums.sha)))
		e.sums.blob = r.text()
		content.entries[path] = e
	}
	return content, !r.bad
}

// cacheReader takes the parts of a cache's file off its beginning.
type cacheReader struct {
	rest string
	bad  bool
}

func (r *cacheReader) take(n int) string {
	if n < 0 || n > len(r.rest) {
		r.rest, r.bad = "", true
		return strings.Repeat("\x00", min(max(n, 0), sha256.Size))
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *cacheReader) text() string { return r.take(int(min(r.uvarint(), 1<<30))) }

func (r *cacheReader) fixed() int64 {
	const size = 8
	return int64(binary.LittleEndian.Uint64([]byte(r.take(size))))
}

func (r *cacheReader) uvarint() uint64 {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		if r.rest == "" {
			break
		}
		b := r.rest[0]
		r.rest = r.rest[1:]
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	r.rest, r.bad = "", true
	return 0
}

func (r *cacheReader) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}
