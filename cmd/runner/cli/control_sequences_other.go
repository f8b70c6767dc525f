//go:build !windows

package cli

import "io"

// enableControlSequences does nothing: here every terminal carries control sequences out.
func enableControlSequences(io.Writer) (restore func(), ok bool) { return func() {}, true }
