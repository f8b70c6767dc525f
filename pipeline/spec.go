package pipeline

import _ "embed"

//go:embed SPEC.md
var spec string

// Spec returns the manual of the language, SPEC.md, as Markdown.
func Spec() string { return spec }
