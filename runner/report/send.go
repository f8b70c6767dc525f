package report

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/google/uuid"

	"prdrunner/checkpoint/ledger"
)

// ackInterval is how often Send looks for the acknowledgement.
const ackInterval = 5 * time.Millisecond

// RefusedError says that Runner refused a report.
type RefusedError struct{ Reason string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Reason }

// Append writes a report to the file that RUNNER_REPORT names, without waiting.
func Append(path string, r ledger.Report) error {
	line, err := r.Line()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = f.Write(line) // in one call, so that lines of several processes don't mix
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// Send writes a report to the file that RUNNER_REPORT names, and waits until it is on
// record. If Runner refuses it, the error is a *RefusedError.
func Send(ctx context.Context, path string, r ledger.Report) error {
	r.Ack = uuid.NewString()
	if err := Append(path, r); err != nil {
		return err
	}
	ack := AckPath(path, r.Ack)
	ticker := time.NewTicker(ackInterval)
	defer ticker.Stop()
	for {
		reason, err := os.ReadFile(ack)
		switch {
		case err == nil && len(reason) > 0:
			return errors.Join(&RefusedError{Reason: string(reason)}, os.Remove(ack))
		case err == nil:
			if err := os.Remove(ack); err != nil {
				return fmt.Errorf("report: %w", err)
			}
			return nil
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("report: %w", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("wait until the report is on record: %w", ctx.Err())
		}
	}
}
