//go:build !unix

package runner

// openNonblock is not needed where named pipes are not files.
const openNonblock = 0
