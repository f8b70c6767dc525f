package workspace

// dirEntry is a name in a directory.
type dirEntry struct {
	name   string
	isDir  bool // itself, and not by a link
	isLink bool
}
