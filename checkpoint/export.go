package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// The names in an archive are those in the directory of a PRD, and these.
const (
	exportsDir     = "exports"
	exportDocument = "document.json"
	importedName   = "imported.json"
)

// ExportOptions say what is exported, and where to.
type ExportOptions struct {
	Path   string    // of the archive; "" with no Out: in the PRD's exports/
	Out    io.Writer // where it is to be no file
	Format bundle.Format
	Logs   bool
	Force  bool // without what can't be had: else that is a *LackingError, and nothing is written
	// Session is the id of an archived session, which is exported in place of
	// the current one; "": the current one.
	Session string
}

// Exported describes an archive that was written.
type Exported struct {
	ExportHeader
	Path        string // "" where it is no file
	SHA256      string
	Size        int64
	Checkpoints int
	Rollbacks   int
	Objects     int
	ObjectBytes int64
	Logs        int
	Lacking     []Lacking // what could not be had
	FromFiles   []string  // of the workspace, since what kept their bytes is lost or damaged
	LeftOut     []string  // files that the session knows and never kept, since they look sensitive
}

// Lacking is something that an archive should hold and does not.
type Lacking struct {
	What   state.Text `json:"what"` // a path, the id of a checkpoint, or the name of an object
	Reason state.Text `json:"reason"`
}

// LackingError says what an archive would lack. None was written.
type LackingError struct{ Lacking []Lacking }

func (e *LackingError) Error() string {
	const named = 5
	var b strings.Builder
	b.WriteString("it would lack what can be had from nowhere")
	for _, l := range e.Lacking[:min(named, len(e.Lacking))] {
		fmt.Fprintf(&b, "; %s: %s", l.What, l.Reason)
	}
	if len(e.Lacking) > named {
		fmt.Fprintf(&b, "; and %d more", len(e.Lacking)-named)
	}
	return b.String()
}

// ExportHeader is the header of an archive: what it is of, and what it admits
// not to hold. It tells no time, so that the same state gives the same bytes.
type ExportHeader struct {
	FormatVersion string   `json:"format_version"`
	PRD           string   `json:"prd"`
	Session       string   `json:"session"`
	Seq           uint64   `json:"seq"` // where its journal ends
	Sum           string   `json:"sum"` // of its last line
	LostFiles     []string `json:"lost_checkpoints,omitempty"`
	LostObjects   []string `json:"lost_objects,omitempty"`
}

// Export writes an archive with all that a machine needs which has nothing
// else: the journal, the checkpoints, and the bytes of all their files, also
// those that git keeps here. It takes no lock: a session that goes on meanwhile
// is exported as it stood at one commit. Bytes whose keeping failed are taken
// from a file of the workspace that has the same.
func (s *Store) Export(ctx context.Context, w *workspace.Workspace, prd string, o ExportOptions) (*Exported, error) {
	if err := s.checkID(prd); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		out := &countingWriter{w: o.Out}
		done, moved, err := s.export(ctx, w, prd, o, out)
		if err == nil {
			return done, nil
		}
		if !moved || try == readTries || out.n > 0 || ctx.Err() != nil {
			return nil, fmt.Errorf("export %s: %w", prd, err)
		}
	}
}

// export tries once. moved says that the session was not left in peace
// meanwhile, which may be why it failed.
func (s *Store) export(ctx context.Context, w *workspace.Workspace, prd string, o ExportOptions, out io.Writer) (done *Exported, moved bool, err error) {
	dir := s.layout.PRDDir(prd)
	if o.Session != "" {
		at, err := s.ArchivedSession(prd, o.Session)
		if err != nil {
			return nil, false, err
		}
		dir = at.Dir
	}
	x := &exporting{store: s, w: w, prd: prd, dir: dir, needed: newNeeded(objectSource(s)), reasons: map[string]string{}}
	defer func() { err = errors.Join(err, x.close()) }()
	if err = x.gather(ctx, o.Logs); err == nil {
		err = x.gatherObjects(ctx)
	}
	if err == nil && len(x.done.Lacking) > 0 && !o.Force {
		err = &LackingError{Lacking: x.done.Lacking}
	}
	if err == nil {
		err = x.write(ctx, o, out)
	}
	var changed *bundle.ChangedError
	var edited *workspace.ChangedError
	moved = x.wentOn() || errors.As(err, &changed) || errors.As(err, &edited) || errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrNoSession)
	return &x.done, moved, err
}

// write writes the archive to where it is wanted.
func (x *exporting) write(ctx context.Context, o ExportOptions, out io.Writer) error {
	header, err := state.EncodeJSON(x.done.ExportHeader)
	if err != nil {
		return fmt.Errorf("encode the header: %w", err)
	}
	pour := func(to io.Writer) error {
		sum, err := bundle.Write(ctx, to, o.Format, header, x.entries)
		x.done.SHA256, x.done.Size = sum.SHA256, sum.Size
		return err
	}
	if o.Out != nil {
		return pour(out)
	}
	if x.done.Path = o.Path; o.Path == "" {
		dir := filepath.Join(x.store.layout.PRDDir(x.prd), exportsDir)
		if err := store.MkdirAll(x.store.fs, dir); err != nil {
			return err
		}
		x.done.Path = filepath.Join(dir, x.fileName())
	}
	return x.store.pourFile(x.done.Path, pour)
}

// fileName names an archive after what it holds.
func (x *exporting) fileName() string {
	session := x.done.Session
	if len(session) > 8 {
		session = session[:8]
	}
	return fmt.Sprintf("%s-%s-%d.tar.gz", disk.EncodeName(x.prd), disk.EncodeName(session), x.done.Seq)
}

// exportIdle is for how long nobody writes to what a killed export left. It lies
// beside the archive, where no lock is held and nothing else would remove it.
const exportIdle = 10 * time.Minute

// pourFile puts a file at a path, whole or not at all, as WriteFile does, but
// without having all of it in memory. It removes what one that was killed left.
func (s *Store) pourFile(path string, pour func(io.Writer) error) error {
	_ = store.RemoveTempsOf(s.fs, path, s.now().Add(-exportIdle)) // what can't be removed is in nobody's way
	f, temp, err := store.CreateTemp(s.fs, path)
	if err != nil {
		return err
	}
	err = pour(f)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = s.fs.Rename(temp, path)
	}
	if err != nil {
		_ = s.fs.Remove(temp) // it is a leftover then, and named as one
		return fmt.Errorf("write %s: %w", path, err)
	}
	return s.fs.SyncDir(filepath.Dir(path))
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
