package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"prdrunner/checkpoint/store"
)

const auditName = "audit.log"

// AuditRecord is a line of audit.log: an operation that changed something, or
// tried to.
type AuditRecord struct {
	Time   time.Time `json:"time"` // when it ended
	By     Actor     `json:"by"`
	What   string    `json:"what"` // the command: "checkpoint rollback"
	PRD    string    `json:"prd,omitempty"`
	Args   []Text    `json:"args,omitempty"` // what it was asked for
	Result string    `json:"result"`         // "ok", "failed", or how a build ended
	Error  Text      `json:"error,omitempty"`
}

// Audit adds a line to audit.log, durably. Whoever was cut short while adding
// one leaves a line that is not whole; the next one begins anew behind it.
func (s *Store) Audit(r AuditRecord) (err error) {
	if r.Time.IsZero() {
		r.Time = s.now()
	}
	line, err := marshal(r)
	if err != nil {
		return fmt.Errorf("encode the audit record: %w", err)
	}
	if err := s.makeRoot(); err != nil {
		return err
	}
	path := filepath.Join(s.dir, auditName)
	info, err := s.fs.Lstat(path)
	had := err == nil
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look for the audit log: %w", err)
	case had && !info.Mode().IsRegular(): // what a link leads to is somebody else's
		return fmt.Errorf("write the audit log: %s is not a regular file; remove it", path)
	}
	f, err := s.fs.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, store.FilePerm)
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
		return s.fs.SyncDir(s.dir)
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

// Audited does something and adds to audit.log how it ended. That this could
// not be written is joined to the error.
func (s *Store) Audited(r AuditRecord, do func() error) error {
	err := do()
	if r.Result = "ok"; err != nil {
		r.Result, r.Error = "failed", Text(err.Error())
	}
	return errors.Join(err, s.Audit(r))
}
