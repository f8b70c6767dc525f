package statcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"prdrunner/checkpoint/objects"
	"prdrunner/checkpoint/store"
)

// cacheMagic begins a cache file and names its format. These parts follow, where a string
// is its length and its bytes:
//
//   - the workspace's path and the boot ID, both strings
//   - the number of excluded files, then the path and digest of each, both strings; the
//     digest is "name" if the file was excluded for its name
//   - for each file its path (a string), size, mtime, ctime, inode, device, MaskOnly bits,
//     SHA-256 digest (32 bytes), and git's name of the bytes (a string)
//   - the SHA-256 of all bytes before it
//
// Numbers are varints, except for the times, which are 8 bytes, little-endian. The files
// are sorted by path, except in cache files of earlier versions.
const cacheMagic = "runner stat cache 3\n"

// cacheContent is the decoded content of a cache file.
type cacheContent struct {
	files    loadedFiles
	excluded map[string]string
}

// load reads the cache file. If it is torn, damaged, of another version or of another
// directory, the cache is empty. load is called once.
func (c *Cache) load() {
	var content cacheContent
	if c.path != "" {
		if data, err := store.ReadFile(c.fs, c.path); err == nil {
			if read, ok := c.decode(data); ok {
				content = read
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setContent(content)
}

// setContent replaces the content of the cache.
func (c *Cache) setContent(content cacheContent) {
	c.loaded, c.returned = content.files, make([]atomic.Bool, len(content.files.begins))
	c.overrides, c.excluded = map[string]entry{}, content.excluded
	if c.excluded == nil {
		c.excluded = map[string]string{}
	}
}

// Save writes the cache file. It does not sync the file, since a file that a power cut
// damages is not trusted.
func (c *Cache) Save() error {
	c.MeasureClockLag()
	return c.writeFile(c.encode())
}

// HasChanges reports whether the cache has changes that are not saved.
func (c *Cache) HasChanges() bool {
	if c.path == "" {
		return false
	}
	c.LoadOnce()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// UnusedPaths returns the paths of files that may be gone: MarkSurveyed was called, and
// Get has not returned their entries.
func (c *Cache) UnusedPaths() []string {
	if !c.surveyed.Load() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var paths []string
	for i := range c.loaded.begins {
		path := string(c.loaded.fileAt(i).path)
		if _, better := c.overrides[path]; !better && !c.returned[i].Load() {
			paths = append(paths, path)
		}
	}
	return slices.AppendSeq(paths, maps.Keys(c.excluded))
}

// Paths returns the paths of all files in the cache.
func (c *Cache) Paths() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	paths := slices.Collect(maps.Keys(c.excluded))
	for e := range c.entries() {
		paths = append(paths, e.path)
	}
	return paths
}

// Remove removes the entries of files, including their excluded contents.
func (c *Cache) Remove(paths []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, path := range paths {
		c.dropEntry(path)
		delete(c.excluded, path)
	}
}

// writeFile replaces the cache file by a rename, without a sync.
func (c *Cache) writeFile(data []byte) error {
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

func (c *Cache) encode() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.SortedFunc(c.entries(), byCachedPath)
	const typical = 160
	b := make([]byte, 0, typical*(len(all)+1))
	b = append(b, cacheMagic...)
	b = appendString(appendString(b, c.root), c.boot)
	b = binary.AppendUvarint(b, uint64(len(c.excluded)))
	for path, digest := range c.excluded {
		b = appendString(appendString(b, path), digest)
	}
	for _, e := range all {
		sha, err := parseDigest(e.sums.Digest)
		blob, badName := hex.DecodeString(e.sums.Blob)
		if err != nil || badName != nil || e.read != 0 && !laterWritesVisible(e.stat, time.Unix(0, e.read).Add(-c.clockLag)) {
			continue
		}
		b = appendString(b, e.path)
		b = binary.AppendVarint(b, e.stat.Size)
		b = binary.LittleEndian.AppendUint64(b, uint64(e.stat.Mtime))
		b = binary.LittleEndian.AppendUint64(b, uint64(e.stat.Ctime))
		b = binary.AppendUvarint(b, e.stat.Inode)
		b = binary.AppendUvarint(b, e.stat.device)
		b = binary.AppendUvarint(b, uint64(e.sums.MaskOnly))
		b = append(b, sha[:]...)
		b = appendString(b, string(blob))
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func byCachedPath(a, b entry) int { return strings.Compare(a.path, b.path) }

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decode decodes a cache file. It returns false if the file is invalid. If the machine
// was restarted since the file was written, decode omits the digests by stat.
func (c *Cache) decode(data []byte) (content cacheContent, ok bool) {
	body := len(data) - sha256.Size
	if body < len(cacheMagic) || !bytes.HasPrefix(data, []byte(cacheMagic)) {
		return content, false
	}
	if sum := sha256.Sum256(data[:body]); !bytes.Equal(sum[:], data[body:]) {
		return content, false
	}
	r := cacheReader{data: data[len(cacheMagic):body]}
	if string(r.readString()) != c.root {
		return content, false
	}
	content.excluded = map[string]string{}
	sameBoot := string(r.readString()) == c.boot
	for n := r.readUvarint(); n > 0 && !r.bad; n-- {
		path := string(r.readString())
		content.excluded[path] = string(r.readString())
	}
	if sameBoot && !r.bad {
		content.files, r.bad = indexFiles(r.data[r.offset:])
	}
	return content, !r.bad
}

// digestPrefix begins every digest; 64 hex digits follow.
const digestPrefix = "sha256:"

// parseDigest returns the bytes of a digest.
func parseDigest(digest string) (sha [sha256.Size]byte, err error) {
	if !objects.IsDigest(digest) {
		return sha, fmt.Errorf("%q is not a digest", digest)
	}
	_, err = hex.Decode(sha[:], []byte(digest[len(digestPrefix):]))
	return sha, err
}
