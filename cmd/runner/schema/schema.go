// Package schema has the JSON schemas of what Runner writes for programs: of runner.yaml, the PRD document, checkpoints, plans,
// events, and of what each command prints with --json.
//
// The schemas are files of the directory schemas. A test makes them from the types that are written, with the comments of
// these, so nothing is described twice; other tests compare everything that commands print with them. In what Runner writes, fields
// that a later version adds are no mistake; in runner.yaml, unknown keys are one. Where to begin: Names and Find.
package schema

import (
	"embed"
	"slices"
	"strings"
)

//go:embed schemas/*.json
var files embed.FS

// Find returns the text of a schema.
func Find(name string) (text []byte, ok bool) {
	if strings.ContainsAny(name, "/.") {
		return nil, false
	}
	text, err := files.ReadFile("schemas/" + name + ".json")
	return text, err == nil
}

// Names returns the names of all schemas, sorted.
func Names() ([]string, error) {
	entries, err := files.ReadDir("schemas")
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".json")
	}
	slices.Sort(names)
	return names, nil
}

// OfCommand returns the name of the schema of what a command prints with --json, given its path without the program.
func OfCommand(path string) string { return strings.ReplaceAll(path, " ", "-") }
