package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// CommitOptions say what commit is made. Ref and When are required.
type CommitOptions struct {
	Ref     string // names the commit: refs/runner/…; replaced if it exists
	Message string
	// Base is a commit from which the new commit starts: it has the files of Base, except
	// for those that the caller adds or deletes. If Base is "", the new commit has only
	// the added files below the directory, and the files of Parent outside the directory.
	Base   string
	Parent string // "": the commit has none
	// Merged are the commit's further parents; then Parent is required.
	Merged []string
	// Reachable are further commits that references of the repository reach, so that
	// their objects need not be written again.
	Reachable []string
	When      time.Time
}

// refRoot begins the names of Runner's refs. Runner changes no others.
const refRoot = "refs/runner/"

// ErrLength says that a source has more bytes than were announced, or fewer.
var ErrLength = errors.New("has another length than was announced")

// Writer writes a commit that is on no branch. It keeps the bytes of files unchanged: no
// filter and no end-of-line conversion applies. Commit or Abort ends it. It is not safe
// for concurrent use.
type Writer struct {
	git        *Repository
	options    CommitOptions
	process    *process
	quarantine *quarantine     // holds the commit until it is complete
	err        error           // why no more can be written; nil: the caller may write
	parents    map[string]bool // directories of the added paths
}

// Begin begins a commit. It uses fast-import, which takes a whole tree in one process,
// needs no index, and writes no deltas, since searching for deltas takes long.
func (g *Repository) Begin(ctx context.Context, o CommitOptions) (*Writer, error) {
	if !strings.HasPrefix(o.Ref, refRoot) {
		return nil, fmt.Errorf("begin a commit as %s: not below %s", o.Ref, refRoot)
	}
	for _, name := range slices.Concat([]string{o.Base, o.Parent}, o.Merged, o.Reachable) {
		if name != "" && !g.isName(name) {
			return nil, fmt.Errorf("begin a commit as %s: %q is not the name of a commit", o.Ref, name)
		}
	}
	q, err := g.newQuarantine()
	if err != nil {
		return nil, fmt.Errorf("begin a commit as %s: %w", o.Ref, err)
	}
	c := q.command(
		"-c", "core.logAllRefUpdates=false", "-c", "core.fsync=none", "-c", "fastimport.unpackLimit=0",
		"-c", "core.compression=1", "-c", "core.looseCompression=1", "-c", "pack.compression=1",
		"-c", streamThreshold,
		"fast-import", "--quiet", "--done", "--force", "--depth=0")
	talk, err := g.startProcess(ctx, c)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("begin a commit as %s: %w", o.Ref, err), q.remove())
	}
	w := &Writer{git: g, options: o, process: talk, quarantine: q, parents: map[string]bool{}}
	if err := w.writeHeader(); err != nil {
		return nil, errors.Join(w.failWith("begin a commit as "+o.Ref, err), q.remove())
	}
	return w, nil
}

// writeHeader writes the header of the commit, and selects the files from which the
// commit starts.
func (w *Writer) writeHeader() error {
	o := w.options
	message := strings.ReplaceAll(o.Message, "\x00", "")
	fmt.Fprintf(w.process.in, "commit %s\nmark :1\ncommitter Runner <runner@localhost> %d %s\ndata %d\n%s\n",
		o.Ref, max(o.When.Unix(), 0), o.When.Format("-0700"), len(message), message)
	if o.Parent != "" {
		fmt.Fprintf(w.process.in, "from %s\n", o.Parent)
	}
	for _, name := range o.Merged {
		fmt.Fprintf(w.process.in, "merge %s\n", name)
	}
	switch {
	case o.Base == "" && w.git.prefix == "":
		return w.command("deleteall\n")
	case o.Base == "":
		return w.command("D %s\n", quotePath(strings.TrimSuffix(w.git.prefix, "/")))
	case o.Base == o.Parent:
		return nil
	}
	tree, err := w.treeOf(o.Base)
	if err != nil {
		return err
	}
	return w.command("M 040000 %s \"\"\n", tree)
}

// treeOf asks for the tree of a commit.
func (w *Writer) treeOf(commit string) (string, error) {
	if err := w.command("ls %s \"\"\n", commit); err != nil {
		return "", err
	}
	if err := w.process.in.Flush(); err != nil {
		return "", err
	}
	line, err := w.process.out.ReadString('\n')
	if err != nil {
		return "", err
	}
	// "040000 tree NAME\t"
	fields := strings.Fields(line)
	if len(fields) != 3 || fields[1] != "tree" || !w.git.isName(fields[2]) {
		return "", fmt.Errorf("commit %s has no tree: %q", commit, line)
	}
	return fields[2], nil
}

// command writes a command of fast-import. The buffered writer repeats its first error.
func (w *Writer) command(format string, args ...any) error {
	_, err := fmt.Fprintf(w.process.in, format, args...)
	return err
}

// failWith ends the process, and returns git's error if it gave one, or else err.
func (w *Writer) failWith(doing string, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	w.err = fmt.Errorf("%s: %w", doing, w.process.abortWithError(err))
	return w.err
}

// AddFile adds a file of exactly size bytes, or a symbolic link, whose target r gives. If r
// fails, or has more or fewer bytes (ErrLength), the caller must add the path again, or
// delete it, before Commit. The rest of the commit is not affected.
func (w *Writer) AddFile(path string, mode uint32, size int64, r io.Reader) error {
	full, err := w.preparePath(path, mode)
	if err != nil {
		return err
	}
	if err := w.command("M %o inline %s\ndata %d\n", mode, full, size); err != nil {
		return w.failWith("write "+path+" to git", err)
	}
	source := &sourceReader{r: r}
	n, err := io.CopyN(w.process.in, source, size)
	if err != nil && source.err == nil {
		return w.failWith("write "+path+" to git", err)
	}
	// The announced number of bytes must follow, or git misreads all later commands.
	if _, err := io.CopyN(w.process.in, zeros{}, size-n); err != nil {
		return w.failWith("write "+path+" to git", err)
	}
	if err := w.command("\n"); err != nil {
		return w.failWith("write "+path+" to git", err)
	}
	return source.checkLength(path, n == size)
}

// AddBlob adds a file whose blob the repository has, or a submodule.
func (w *Writer) AddBlob(path string, mode uint32, blob string) error {
	full, err := w.preparePath(path, mode)
	if err != nil {
		return err
	}
	if !w.git.isName(blob) {
		return fmt.Errorf("write %s to git: %q is not the name of a blob", path, blob)
	}
	if err := w.command("M %o %s %s\n", mode, blob, full); err != nil {
		return w.failWith("write "+path+" to git", err)
	}
	return nil
}

// Delete removes a file that Base has. If Base does not have it, Delete does nothing.
func (w *Writer) Delete(path string) error {
	if w.err != nil {
		return w.err
	}
	if err := checkPath(path); err != nil {
		return err
	}
	// The file became a directory: the files below it have replaced it.
	if w.parents[path] {
		return nil
	}
	if err := w.command("D %s\n", quotePath(w.git.prefix+path)); err != nil {
		return w.failWith("delete "+path+" in git", err)
	}
	return nil
}

// preparePath checks a path and a mode. It returns the path from the top level, quoted.
func (w *Writer) preparePath(path string, mode uint32) (string, error) {
	if w.err != nil {
		return "", w.err
	}
	if err := checkPath(path); err != nil {
		return "", err
	}
	switch mode {
	case 0o100644, 0o100755, modeSymlink, ModeGitlink:
	default:
		return "", fmt.Errorf("write %s to git: it knows no mode %o", path, mode)
	}
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		if w.parents[path[:i]] {
			break
		}
		w.parents[path[:i]] = true
	}
	return quotePath(w.git.prefix + path), nil
}

// Commit writes the commit and its ref, both durable when it returns, and returns the
// commit's name. It makes the ref last, when the repository has the whole commit.
func (w *Writer) Commit(ctx context.Context) (commit string, err error) {
	if w.err != nil {
		return "", w.err
	}
	doing := "commit as " + w.options.Ref
	w.err = errors.New(doing + ": the commit was made already")
	defer func() { err = errors.Join(err, w.removeQuarantine()) }()
	if err := w.command("\nget-mark :1\ndone\n"); err != nil {
		return "", w.failWith(doing, err)
	}
	if err := w.process.in.Flush(); err != nil {
		return "", w.failWith(doing, err)
	}
	line, err := w.process.out.ReadString('\n')
	if err != nil {
		return "", w.failWith(doing, err)
	}
	if err := w.process.finish(); err != nil {
		return "", fmt.Errorf("%s: %w", doing, err)
	}
	commit = strings.TrimSuffix(line, "\n")
	if !w.git.isName(commit) {
		return "", fmt.Errorf("%s: unexpected answer %q", doing, line)
	}
	if err := w.quarantine.publish(ctx, w.options.Ref, commit, w.reachable()); err != nil {
		return "", fmt.Errorf("%s: %w", doing, err)
	}
	return commit, nil
}

// reachable returns the commits that references of the repository reach.
func (w *Writer) reachable() []string {
	names := slices.Concat(w.options.Reachable, w.options.Merged)
	if w.options.Parent != "" {
		names = append(names, w.options.Parent)
	}
	return names
}

// Abort discards the commit, and removes the files written for it. After Commit it does
// nothing.
func (w *Writer) Abort() error {
	w.process.abort()
	if w.err == nil {
		w.err = fmt.Errorf("commit as %s: it was given up", w.options.Ref)
	}
	return w.removeQuarantine()
}

func (w *Writer) removeQuarantine() error {
	if err := w.quarantine.remove(); err != nil {
		return fmt.Errorf("commit as %s: remove what was written aside: %w", w.options.Ref, err)
	}
	return nil
}
