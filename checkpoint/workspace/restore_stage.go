package workspace

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"prdrunner/checkpoint/failpoint"
	"prdrunner/checkpoint/workspace/statcache"
	"prdrunner/checkpoint/workspace/tree"
)

// maxFlushes bounds the number of files that are synced at once. File systems combine
// concurrent flushes, so that many cost little more than one.
const maxFlushes = 64

// flushBatch bounds the number of files whose writing the disk has started before the first
// sync. By then the file system has allocated the blocks of all these files. So the first
// sync writes the journal for many files, and later syncs find it written.
const flushBatch = 256

// flusher syncs and closes files while the caller writes others.
type flusher struct {
	group errgroup.Group

	adding   sync.Mutex // held until the syncs of begun files are started, so that few more files are open
	begun    []written  // files whose writing the disk has started and whose sync has not been started
	maxBegun int        // bounds the length of begun
}

// written is a file to be synced and closed. Then done is called with the file's status.
type written struct {
	file *os.File
	done func(fs.FileInfo)
}

// newFlusher returns a flusher that uses at most an eighth of the files that the process
// may have open.
func newFlusher() *flusher {
	l := &flusher{maxBegun: max(1, min(flushBatch, maxOpenFiles()/8))}
	l.group.SetLimit(maxFlushes)
	return l
}

// addFile takes over a file. The file is synced when wait returns.
func (l *flusher) addFile(f written) {
	if !beginWriting(f.file) {
		l.startFlush(f)
		return
	}
	l.adding.Lock()
	defer l.adding.Unlock()
	if l.begun = append(l.begun, f); len(l.begun) >= l.maxBegun {
		l.startBegun()
	}
}

func (l *flusher) startBegun() {
	for _, f := range l.begun {
		l.startFlush(f)
	}
	l.begun = l.begun[:0]
}

// startFlush syncs a file in the background. It waits while too many syncs are in flight.
func (l *flusher) startFlush(f written) {
	l.group.Go(func() error {
		if err := f.syncAndClose(); err != nil {
			return fmt.Errorf("write a restored file to the disk: %w", err)
		}
		return nil
	})
}

func (f written) syncAndClose() error {
	err := staged{f.file}.Sync()
	var info fs.FileInfo
	if err == nil {
		info, err = f.file.Stat()
	}
	if closed := f.file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		f.done(info)
	}
	return err
}

// staged is a temporary file.
type staged struct{ *os.File }

func (s staged) Sync() error {
	if err := failpoint.Before(failpoint.Sync, s.Name()); err != nil {
		return err
	}
	return s.File.Sync()
}

// waitAll syncs the added files. The caller must not add more.
func (l *flusher) waitAll() error {
	l.startBegun()
	return l.group.Wait()
}

// stageFiles writes the bytes of items to their temporary files, durable when it returns.
// damaged holds the reasons for the items whose bytes are missing or damaged.
func (r *restore) stageFiles(ctx context.Context, items []*item) (damaged map[string]string, err error) {
	damaged = map[string]string{}
	var mu sync.Mutex
	from, err := r.w.contents.newSources(ctx)
	if err != nil {
		return nil, err
	}
	flush := newFlusher()
	err = r.w.tree.Each(ctx, len(items), stageChunk, func(ctx context.Context, c *tree.Cursor, n int) error {
		i := items[n]
		err := from.withSource(func(s *source) error {
			return r.locks.change(c, i.stage, func(dir *os.Root) error { return r.stageFile(ctx, s, dir, i, flush) })
		})
		reason, err := unavailable(ctx, err)
		if err != nil {
			return withPath(i.Path, err)
		}
		if reason != "" {
			mu.Lock()
			defer mu.Unlock()
			damaged[i.Path] = reason
		}
		return nil
	})
	if flushed := flush.waitAll(); err == nil {
		err = flushed
	}
	if closed := from.close(); err == nil {
		err = closed
	}
	return damaged, err
}

// stageFile writes one temporary file or link.
func (r *restore) stageFile(ctx context.Context, s *source, dir *os.Root, i *item, flush *flusher) error {
	if i.To.Mode == ModeSymlink {
		var target strings.Builder
		if i.To.Size > maxTarget {
			return fmt.Errorf("a link's target cannot have %d bytes", i.To.Size)
		}
		err := s.writeAny(ctx, *i.To, func() (io.Writer, error) {
			target.Reset()
			return &target, nil
		})
		if err != nil {
			return err
		}
		if err := dir.Symlink(target.String(), i.temp); err != nil {
			return err
		}
		info, err := dir.Lstat(i.temp)
		if err == nil {
			i.staged = statcache.StatOf(info)
		}
		return err
	}
	f, err := dir.OpenFile(i.temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = failpoint.Before(failpoint.Write, i.temp)
	if err == nil {
		err = s.fillFile(ctx, *i.To, f)
		i.sums = statcache.Sums{Digest: i.To.Digest, Blob: s.blob}
	}
	if err == nil {
		err = setMode(f, fs.FileMode(i.To.Mode&0o777))
	}
	if err != nil {
		_ = f.Close()          // err is more important
		_ = dir.Remove(i.temp) // err is more important
		return err
	}
	flush.addFile(written{f, func(info fs.FileInfo) { i.staged = statcache.StatOf(info) }})
	return nil
}

// stageChunk is the number of files that a worker takes at once. It is small, since a
// single file may be large.
const stageChunk = 4

// maxTarget bounds the length of a link's target.
const maxTarget = 64 << 10

// prepare checks that everything can be restored. With Force it skips the files that can't
// be.
func (r *restore) prepare(ctx context.Context) error {
	obstacles, err := r.findObstacles(ctx)
	if err != nil {
		return err
	}
	if len(obstacles) > 0 && !r.o.Force {
		return &ObstructedError{Obstacles: obstacles}
	}
	found := map[string]string{}
	for _, o := range obstacles {
		found[o.Path] = o.Reason
	}
	var entries []Entry
	for _, i := range r.items {
		if i.writes() {
			entries = append(entries, *i.To)
		}
	}
	missing, err := r.w.contents.Missing(ctx, entries, false)
	if err != nil {
		return err
	}
	for _, m := range missing {
		found[m.Path] = m.Reason
	}
	return r.skipItems(found)
}

// skipItems drops the items of the given paths with Force, and fails without it.
func (r *restore) skipItems(reasons map[string]string) error {
	if len(reasons) == 0 {
		return nil
	}
	var missing []Missing
	kept := r.items[:0:0]
	for _, i := range r.items {
		if reason, ok := reasons[i.Path]; ok {
			missing = append(missing, Missing{Path: i.Path, Reason: reason})
			delete(r.removedPaths, i.Path)
		} else {
			kept = append(kept, i)
		}
	}
	if !r.o.Force {
		return &MissingError{Missing: missing}
	}
	r.items = kept
	r.skipped = append(r.skipped, missing...)
	return nil
}

// stageAll writes all bytes to temporary files.
func (r *restore) stageAll(ctx context.Context) (err error) {
	var staged []*item
	c := r.w.tree.Cursor()
	defer c.Close()
	for n, i := range r.items {
		if !i.writes() {
			continue
		}
		if last := len(staged) - 1; last >= 0 && tree.Parent(staged[last].Path) == tree.Parent(i.Path) {
			i.stage = staged[last].stage
		} else if i.stage, err = r.stageDir(c, i.Path); err != nil {
			return withPath(i.Path, err)
		}
		i.temp = r.tempName(n)
		staged = append(staged, i)
	}
	damaged, err := r.stageFiles(ctx, staged)
	if err != nil {
		return err
	}
	return r.skipItems(damaged)
}

// stageDir returns the nearest existing directory above a path. New directories are made
// only once all bytes are written.
func (r *restore) stageDir(c *tree.Cursor, path string) (string, error) {
	for {
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
		if _, err := c.Enter(path); !tree.IsAbsent(err) {
			return path, err
		}
	}
}
