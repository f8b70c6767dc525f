// Package transfer writes the session of a PRD into an archive, and takes a session over
// from one.
//
// [Export] writes the archive; it takes no lock. [OpenImport] unpacks and verifies an
// archive and changes no session; [PreviewImport] does so for a dry run. [Import.Place]
// makes the archive's session the current one, and [RestoreImported] writes its files
// into the workspace. [FinishImport] writes the remaining files after an import that was
// interrupted.
//
// Package bundle knows the form of an archive; what belongs into one is decided here.
// The core, package checkpoint, completes the move of an imported session after a crash,
// since a session must not be loaded or locked before. Read export.go and
// export_session.go for what an archive holds, then import.go and import_place.go.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"prdrunner/checkpoint"
	"prdrunner/checkpoint/bundle"
	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace"
)

// exportDocument and importedName name files in an archive: the session's document, and
// the document that the session began with.
const (
	exportDocument = "document.json"
	importedName   = "imported.json"
)

// ExportOptions hold what to export and where to write it.
type ExportOptions struct {
	Path   string    // of the archive; "" without Out: a file in the PRD's exports directory
	Out    io.Writer // receives the archive if it is not written to a file
	Format bundle.Format
	Logs   bool
	Force  bool // write an incomplete archive; otherwise Export returns a *LackingError and writes nothing
	// Session is the id of an archived session to export. "" exports the current session.
	Session string
}

// Exported describes an archive that was written.
type Exported struct {
	ExportHeader
	Path        string // "" if it was written to Out
	SHA256      string
	Size        int64
	Checkpoints int
	Rollbacks   int
	Objects     int
	ObjectBytes int64
	Logs        int
	Lacking     []Lacking // what the archive should hold but does not
	FromFiles   []string  // workspace files that were exported because the stored bytes are lost or damaged
	LeftOut     []string  // files of the session that were never captured because they look sensitive
}

// Lacking is a part that an archive should hold but does not.
type Lacking struct {
	What   state.Text `json:"what"` // a path, the id of a checkpoint, or the name of an object
	Reason state.Text `json:"reason"`
}

// LackingError lists what the archive would lack. No archive was written.
type LackingError struct{ Lacking []Lacking }

func (e *LackingError) Error() string {
	const named = 5
	var b strings.Builder
	b.WriteString("the archive would lack bytes that are lost")
	for _, l := range e.Lacking[:min(named, len(e.Lacking))] {
		fmt.Fprintf(&b, "; %s: %s", l.What, l.Reason)
	}
	if len(e.Lacking) > named {
		fmt.Fprintf(&b, "; and %d more", len(e.Lacking)-named)
	}
	return b.String()
}

// ExportHeader is the header of an archive: the session that it holds, and the checkpoints
// and objects that it lacks. It holds no time, so that the same state gives the same
// bytes.
type ExportHeader struct {
	FormatVersion string   `json:"format_version"`
	PRD           string   `json:"prd"`
	Session       string   `json:"session"`
	Seq           uint64   `json:"seq"` // last commit of the journal
	Sum           string   `json:"sum"` // checksum of the journal's last line
	Issue         int      `json:"issue_number,omitempty"`
	LostFiles     []string `json:"lost_checkpoints,omitempty"`
	LostObjects   []string `json:"lost_objects,omitempty"`
}

// Export writes an archive from which another machine can continue without any other data:
// the journal, the checkpoints, and the bytes of all their files, including those that
// only git keeps here. It takes no lock. If the session continues meanwhile, the archive
// holds it as of one commit. If the stored bytes of a file are lost or damaged, Export
// takes them from a workspace file with the same content.
func Export(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, prd string, o ExportOptions) (*Exported, error) {
	if err := s.Reader().CheckID(prd); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		out := &countingWriter{w: o.Out}
		done, moved, err := export(ctx, s, w, prd, o, out)
		if err == nil {
			return done, nil
		}
		if !moved || try == exportTries || out.n > 0 || ctx.Err() != nil {
			return nil, fmt.Errorf("export %s: %w", prd, err)
		}
	}
}

// export makes one attempt at an export. moved reports that the session changed meanwhile,
// which may be why the attempt failed.
func export(ctx context.Context, s *checkpoint.Store, w *workspace.Workspace, prd string, o ExportOptions, out io.Writer) (done *Exported, moved bool, err error) {
	dir := s.Layout().PRDDir(prd)
	if o.Session != "" {
		at, err := s.Reader().ArchivedSession(prd, o.Session)
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
		err = x.writeArchive(ctx, o, out)
	}
	var changed *bundle.ChangedError
	var edited *workspace.ChangedError
	moved = x.journalChanged() || errors.As(err, &changed) || errors.As(err, &edited) || errors.Is(err, fs.ErrNotExist) && !errors.Is(err, checkpoint.ErrNoSession)
	return &x.done, moved, err
}

// writeArchive writes the archive to o.Out, or to a file if o.Out is nil.
func (x *exporting) writeArchive(ctx context.Context, o ExportOptions, out io.Writer) error {
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
		dir := filepath.Join(x.store.Layout().PRDDir(x.prd), disk.ExportsDir)
		if err := store.MkdirAll(x.store.FS(), dir); err != nil {
			return err
		}
		x.done.Path = filepath.Join(dir, x.fileName())
	}
	return pourFile(x.store, x.done.Path, pour)
}

// fileName returns the default file name of the archive: the PRD, the session and the last
// commit.
func (x *exporting) fileName() string {
	session := x.done.Session
	if len(session) > 8 {
		session = session[:8]
	}
	return fmt.Sprintf("%s-%s-%d.tar.gz", disk.EncodeName(x.prd), disk.EncodeName(session), x.done.Seq)
}

// exportTries is how often Export tries while the session changes.
const exportTries = 10

// exportIdle is how long a temporary file must not have been written to before pourFile
// takes it for that of a killed export. Temporary files are in the archive's directory,
// which no lock protects and no other command tidies.
const exportIdle = 10 * time.Minute

// pourFile writes a file at path, completely or not at all, as WriteFile does, but without
// holding the content in memory. It first removes the temporary files of killed exports.
func pourFile(s *checkpoint.Store, path string, pour func(io.Writer) error) error {
	_ = store.RemoveTempsOf(s.FS(), path, s.Now().Add(-exportIdle)) // a temporary file that can't be removed does no harm
	f, temp, err := store.CreateTemp(s.FS(), path)
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
		err = s.FS().Rename(temp, path)
	}
	if err != nil {
		_ = s.FS().Remove(temp) // if this fails, the file keeps its temporary name
		return fmt.Errorf("write %s: %w", path, err)
	}
	return s.FS().SyncDir(filepath.Dir(path))
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
