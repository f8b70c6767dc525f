//go:build !unix

package survey_test

import "testing"

// makePipe skips the test: this system has no named pipes.
func makePipe(t testing.TB, _ string) { t.Skip("needs a named pipe") }
