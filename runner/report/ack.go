package report

import (
	"fmt"
	"os"
)

// AckPath returns the path of the file that acknowledges a report. Runner writes it next to
// the file that RUNNER_REPORT names, once the report is durable or refused.
func AckPath(path, name string) string { return path + "." + name + ".ack" }

// WriteAck writes an acknowledgement. refusal says why the report is refused, "" if it is on
// record.
func WriteAck(path, refusal string) error {
	temp := path + ".tmp"
	if err := os.WriteFile(temp, []byte(refusal), 0o600); err != nil {
		return fmt.Errorf("acknowledge a report: %w", err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("acknowledge a report: %w", err)
	}
	return nil
}
