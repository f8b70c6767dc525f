//go:build !unix

package workspace

// openNonblock is not needed where named pipes are not files.
const openNonblock = 0
