package git

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // git names its objects so
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// streamThreshold is the size above which git reads and writes a blob in
// pieces instead of in memory.
const streamThreshold = "core.bigFileThreshold=8m"

// NewBlobHash returns a hash that is a blob's name once size bytes are written to it.
func (g *Repository) NewBlobHash(size int64) hash.Hash {
	h := sha1.New() //nolint:gosec // git names its objects so
	if g.format == "sha256" {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", size)
	return h
}

// isName reports whether a string can be the name of an object of this repository. Git
// also accepts other names, such as a branch or "HEAD~3".
func (g *Repository) isName(name string) bool {
	return len(name) == g.nameLength() && strings.Trim(name, "0123456789abcdef") == ""
}

// nameLength returns the length of the names of git's objects.
func (g *Repository) nameLength() int {
	if g.format == "sha256" {
		return 2 * sha256.Size
	}
	return 2 * sha1.Size
}

// HasBlobs reports, for each blob, whether the repository has it. It fetches none from a
// remote.
func (g *Repository) HasBlobs(ctx context.Context, blobs []string) (map[string]bool, error) {
	kinds, err := g.objectKinds(ctx, blobs)
	if err != nil {
		return nil, err
	}
	has := make(map[string]bool, len(kinds))
	for name, kind := range kinds {
		if kind == "blob" {
			has[name] = true
		}
	}
	return has, nil
}

// objectKinds returns the kinds (blob, commit) of the objects that the repository has.
func (g *Repository) objectKinds(ctx context.Context, objects []string) (map[string]string, error) {
	var names strings.Builder
	for _, name := range objects {
		if g.isName(name) {
			names.WriteString(name + "\n")
		}
	}
	kinds := make(map[string]string, len(objects))
	if names.Len() == 0 {
		return kinds, nil
	}
	c := g.command("cat-file", "--batch-check=%(objectname) %(objecttype)", "--buffer")
	c.Env = append(c.Env, "GIT_NO_LAZY_FETCH=1")
	out, err := g.runCapturing(ctx, strings.NewReader(names.String()), c)
	if err != nil {
		return nil, fmt.Errorf("look for objects in git: %w", err)
	}
	for line := range bytes.Lines(out) {
		name, kind, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		if kind != "missing" {
			kinds[name] = kind
		}
	}
	return kinds, nil
}

// CheckReadable returns an error if the user may not read one of the objects, or a pack:
// git calls such objects missing. Callers call it before they report that bytes are
// missing.
func (g *Repository) CheckReadable(missing ...string) error {
	if len(missing) == 0 {
		return nil
	}
	objects := filepath.Join(g.commonDir, "objects")
	packs := filepath.Join(objects, "pack")
	packed, err := g.fs.ReadDir(packs)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("look for objects in git: %w", err)
	}
	paths := make([]string, 0, len(packed)+len(missing))
	for _, e := range packed {
		if ext := filepath.Ext(e.Name()); ext == ".idx" || ext == ".pack" {
			paths = append(paths, filepath.Join(packs, e.Name()))
		}
	}
	for _, name := range missing {
		if g.isName(name) {
			paths = append(paths, filepath.Join(objects, name[:2], name[2:]))
		}
	}
	for _, path := range paths {
		f, err := g.fs.OpenFile(path, os.O_RDONLY, 0)
		switch {
		case err == nil:
			_ = f.Close() // nothing was read
		case errors.Is(err, fs.ErrPermission):
			return fmt.Errorf("look for objects in git: %w", err)
		}
	}
	return nil
}

// BlobReader reads many blobs through one process, which the first Read starts. It is not
// safe for concurrent use.
type BlobReader struct {
	git     *Repository
	ctx     context.Context //nolint:containedctx // of the process, which outlives a call
	process *process        // nil: not started, or ended after an error
}

// Blobs returns a reader of blobs. The caller closes it.
func (g *Repository) Blobs(ctx context.Context) (*BlobReader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &BlobReader{git: g, ctx: ctx}, nil
}

// WriteError says that the writer that should receive a blob failed.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return e.Err.Error() }

func (e *WriteError) Unwrap() error { return e.Err }

// Read writes a blob's bytes to w. An error of w is a *WriteError, and a missing blob is
// fs.ErrNotExist. After an error the next blob can be read.
func (r *BlobReader) Read(blob string, w io.Writer) error {
	size, err := r.requestBlob(blob)
	if err != nil {
		return err
	}
	into := &errWriter{w: w}
	if _, err := io.CopyN(into, r.process.out, size); err != nil {
		return r.abortRead(blob, err)
	}
	if err := r.endBlob(); err != nil {
		return r.abortRead(blob, err)
	}
	if into.err != nil {
		return &WriteError{Err: into.err}
	}
	return nil
}

// requestBlob requests a blob and returns its size. The process then writes the bytes and
// a newline.
func (r *BlobReader) requestBlob(blob string) (int64, error) {
	if !r.git.isName(blob) {
		return 0, fmt.Errorf("read blob %q from git: not the name of a blob: %w", blob, fs.ErrNotExist)
	}
	if r.process == nil {
		talk, err := r.git.startProcess(r.ctx, r.git.command("-c", streamThreshold, "cat-file", "--batch"))
		if err != nil {
			return 0, err
		}
		r.process = talk
	}
	_, err := r.process.in.WriteString(blob + "\n")
	if err == nil {
		err = r.process.in.Flush()
	}
	if err != nil {
		return 0, r.abortRead(blob, err)
	}
	line, err := r.process.out.ReadString('\n')
	if err != nil {
		return 0, r.abortRead(blob, err)
	}
	fields := strings.Fields(line)
	if len(fields) == 2 && fields[1] == "missing" {
		return 0, fmt.Errorf("read blob %s from git: %w", blob, fs.ErrNotExist)
	}
	if len(fields) != 3 {
		return 0, r.abortRead(blob, fmt.Errorf("unexpected answer %q", line))
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || fields[1] != "blob" {
		return 0, r.abortRead(blob, fmt.Errorf("not a blob: %q", line))
	}
	return size, nil
}

// endBlob reads the newline that follows a blob.
func (r *BlobReader) endBlob() error {
	b, err := r.process.out.ReadByte()
	if err == nil && b != '\n' {
		err = errors.New("its bytes do not end where git said")
	}
	return err
}

// abortRead ends the process after an error. The next Read starts a new process.
func (r *BlobReader) abortRead(blob string, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	err = r.process.abortWithError(err)
	r.process = nil
	return fmt.Errorf("read blob %s from git: %w", blob, err)
}

// Close ends the process.
func (r *BlobReader) Close() error {
	if r.process == nil {
		return nil
	}
	err := r.process.finish()
	r.process = nil
	if err != nil {
		return fmt.Errorf("read blobs from git: %w", err)
	}
	return nil
}

// errWriter discards the bytes that follow an error, so that a blob is always read to its
// end.
type errWriter struct {
	w   io.Writer
	err error
}

func (e *errWriter) Write(p []byte) (int, error) {
	if e.err == nil {
		_, e.err = e.w.Write(p)
	}
	return len(p), nil
}

// OpenBlob returns the bytes of a blob. A missing blob is fs.ErrNotExist.
func (g *Repository) OpenBlob(ctx context.Context, blob string) (io.ReadCloser, error) {
	r := &BlobReader{git: g, ctx: ctx}
	size, err := r.requestBlob(blob)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &openBlob{reader: r, blob: blob, left: size}, nil
}

// openBlob is one blob that is being read.
type openBlob struct {
	reader *BlobReader
	blob   string
	left   int64
	err    error
}

func (o *openBlob) Read(p []byte) (int, error) {
	switch {
	case o.err != nil:
		return 0, o.err
	case o.left == 0:
		return 0, io.EOF
	}
	n, err := o.reader.process.out.Read(p[:min(int64(len(p)), o.left)])
	o.left -= int64(n)
	if err != nil {
		o.err = o.reader.abortRead(o.blob, err)
		err = o.err
	}
	return n, err
}

// Close ends the process. The rest of the blob is not read.
func (o *openBlob) Close() error {
	if o.reader.process != nil {
		o.reader.process.abort()
		o.reader.process = nil
	}
	return nil
}
