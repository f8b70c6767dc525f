package checkpoint

import _ "embed"

//go:embed FORMAT.md
var format string

// Format returns the description of all files that Runner writes, FORMAT.md, as Markdown.
func Format() string { return format }
