//go:build unix

package survey_test

import (
	"syscall"
	"testing"
)

// makePipe makes a named pipe, which no capture can take in.
func makePipe(t testing.TB, path string) {
	t.Helper()
	must(t, syscall.Mkfifo(path, 0o600))
}
