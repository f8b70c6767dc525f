package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/state"
	"prdrunner/checkpoint/store"
)

// AuditRecord is a line of audit.log: an operation that changed something, or
// tried to.
type AuditRecord struct {
	Time    time.Time    `json:"time"` // when it ended
	By      state.Actor  `json:"by"`
	What    string       `json:"what"` // the command: "checkpoint rollback"
	PRD     string       `json:"prd,omitempty"`
	Session string       `json:"session,omitempty"`
	Args    []state.Text `json:"args,omitempty"`   // arguments of the command
	IDs     []string     `json:"ids,omitempty"`    // checkpoints and rollbacks that the operation named, made or removed, and git references that it removed
	Reason  state.Text   `json:"reason,omitempty"` // a person's reason, or the rule that decided
	Result  string       `json:"result"`           // "ok", "failed", or how a build ended
	Error   state.Text   `json:"error,omitempty"`
}

// Because sets the reasons for an operation, unless a person gave one. Each reason is
// named once.
func (r *AuditRecord) Because(why ...string) {
	if r.Reason == "" {
		slices.Sort(why)
		r.Reason = state.Text(strings.Join(slices.Compact(why), "; "))
	}
}

// Audit adds a line to audit.log, durably.
func (s *Store) Audit(r AuditRecord) error {
	if r.Time.IsZero() {
		r.Time = s.Now()
	}
	return s.auditLog().addLine(r)
}

// Audited calls do and adds its result to audit.log. do may add to the record. If
// audit.log can't be written, Audited does not call do. If writing fails after do was
// called, Audited passes the error to Options.Late if that is set, since the work is done,
// and returns it otherwise.
func (s *Store) Audited(r *AuditRecord, do func() error) error {
	if err := s.auditLog().checkWritable(); err != nil {
		return err
	}
	err := do()
	if r.Result = "ok"; err != nil {
		r.Result, r.Error = "failed", state.Text(err.Error())
	}
	unwritten := s.Audit(*r)
	if unwritten != nil && s.o.Late != nil {
		s.o.Late(fmt.Errorf("audit.log has no line of it: %w", unwritten))
		return err
	}
	return errors.Join(err, unwritten)
}

// auditLog is the file audit.log of a state directory.
type auditLog struct {
	layout *disk.Layout
	path   string
}

func (s *Store) auditLog() auditLog {
	return auditLog{&s.layout, filepath.Join(s.layout.Path, disk.AuditName)}
}

// addLine adds a line, durably. If an interrupted writer left an incomplete line, it
// begins a new line after it.
func (l auditLog) addLine(r AuditRecord) (err error) {
	line, err := state.EncodeJSON(r)
	if err != nil {
		return fmt.Errorf("encode the audit record: %w", err)
	}
	if err := l.layout.MakeRoot(); err != nil {
		return err
	}
	had, err := l.exists()
	if err != nil {
		return err
	}
	f, err := l.layout.FS.OpenFile(l.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, store.FilePerm)
	if err != nil {
		return fmt.Errorf("open the audit log: %w", err)
	}
	defer func() {
		if closed := f.Close(); err == nil && closed != nil {
			err = fmt.Errorf("write the audit log: %w", closed)
		}
	}()
	whole, err := endsLine(f)
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	if !whole {
		line = append([]byte("\n"), line...)
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	if !had {
		return l.layout.FS.SyncDir(l.layout.Path)
	}
	return nil
}

// endsLine reports whether a file is empty or ends with a newline.
func endsLine(f store.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return true, err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil {
		return false, err
	}
	return last[0] == '\n', nil
}

// checkWritable returns an error if the log can't be written. It changes nothing.
func (l auditLog) checkWritable() error {
	there, err := l.exists()
	if err != nil || !there {
		return err
	}
	f, err := l.layout.FS.OpenFile(l.path, os.O_RDWR|os.O_APPEND, store.FilePerm)
	if err != nil {
		return fmt.Errorf("open the audit log: %w", err)
	}
	return f.Close()
}

// exists reports whether the log exists. It must be a regular file: the target of a link
// may belong to another user.
func (l auditLog) exists() (bool, error) {
	info, err := l.layout.FS.Lstat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for the audit log: %w", err)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("write the audit log: %s is not a regular file; remove it", l.path)
	}
	return true, nil
}
