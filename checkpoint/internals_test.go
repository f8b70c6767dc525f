package checkpoint

import (
	"context"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
	"prdrunner/checkpoint/workspace/git"
)

// This file exports internals of the package to the tests in package checkpoint_test.

// Limits and names of files.
const (
	DocumentInterval = documentInterval
	DocumentRate     = documentRate
	RequestExt       = requestExt
)

// ErrGone says that a checkpoint's file can't be made from the journal.
var ErrGone = errGone

// Mail is the content of a request's file.
type Mail = mail

// ReadMail reads a request's file.
func ReadMail(fsys store.FS, path string) (*Mail, error) {
	return readMail(fsys, path)
}

// Wants reports whether Runner makes a checkpoint for a trigger.
func (p Policy) Wants(t state.Trigger) bool { return p.wantsTrigger(t) }

// IsZero reports whether no field is set.
func (p Policy) IsZero() bool { return p.isZero() }

// MakeRefsID returns the ID of the session's git references. The session has no captures
// in git.
func (x *Session) MakeRefsID(ctx context.Context) (string, error) {
	return captureRefs{&x.store.layout, &git.Repository{}}.makeID(ctx, x.State())
}

// LimitCommits sets how many bytes the events of a commit may take.
func (x *Session) LimitCommits(size int) { x.commits.room = size }

// LastSum returns the checksum of the last line that was handed to the writer.
func (x *Session) LastSum() string { return x.commits.sum }

// WriteRescue writes a rescue copy with commits.
func (x *Session) WriteRescue(commits ...*state.Commit) (path string, err error) {
	return x.store.reader.Rescues.Write(x.prd, x.State().Session, commits)
}

// DocumentWrittenAt returns when the document was written last.
func (x *Session) DocumentWrittenAt() time.Time { return x.derived.at }

// Unwritten tells what the session still has to write or to remove.
type Unwritten struct {
	Since   int // commits whose checkpoint files may be due
	Due     int // checkpoint files
	Lost    int // checkpoint files that can only be made from the journal
	Encoded int
	Bytes   int // of the encoded ones
	Unkept  int // checkpoint files to remove
}

// Unwritten tells what the session still has to write or to remove.
func (x *Session) Unwritten() Unwritten {
	d := x.derived
	return Unwritten{len(d.since), len(d.due), len(d.lost), len(d.encoded), d.size, len(d.unkept)}
}

// LoseDue makes the session forget the states from which the files that are due would be
// made, as if a limit had been reached.
func (x *Session) LoseDue() error {
	d := x.derived
	for _, c := range d.since {
		if err := d.advanceTo(c); err != nil {
			return err
		}
	}
	d.since, d.lost, d.due = nil, d.due, d.lost
	return nil
}
