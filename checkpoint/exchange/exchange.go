// Package exchange writes the session of a PRD as other tools write their checkpoints, and
// begins a session from their checkpoints.
//
// [Export] converts a session; it writes no files itself. [Import] reads the files of
// another tool and converts them to a PRD document, which [Place] puts where the next build
// finds it. Neither changes a session. What has no place on the other side is never dropped
// silently: both list it.
//
// Each format has a file here, and a schema in schema/. The archives that move a session
// between machines without loss are those of package transfer. Begin with draft.go, which
// makes the document, then read crunch.go for the format that has most.
package exchange

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/document"
	"prdrunner/checkpoint/state"
)

// Format is the form in which a tool writes its checkpoints.
type Format string

// The formats.
const (
	PRD         Format = "prd"         // the PRD document: one JSON file
	GoTeam      Format = "go-team"     // a directory: manifest.json and a JSON file for each step
	Orchestrate Format = "orchestrate" // one JSON file, which counts phases
	Crunch      Format = "crunch"      // a directory: index.yaml and a YAML file for each checkpoint
)

// Formats returns all formats.
func Formats() []Format { return []Format{PRD, GoTeam, Orchestrate, Crunch} }

// IsDirectory reports whether the format has several files.
func (f Format) IsDirectory() bool { return f == GoTeam || f == Crunch }

// ParseFormat returns the format of the given name.
func ParseFormat(name string) (Format, error) {
	if f := Format(name); slices.Contains(Formats(), f) {
		return f, nil
	}
	names := make([]string, len(Formats()))
	for i, f := range Formats() {
		names[i] = string(f)
	}
	return "", fmt.Errorf("there is no format %q; the formats are %s", name, strings.Join(names, ", "))
}

// Source is the session to export.
type Source struct {
	State *state.State
	// Load reads a checkpoint of the session.
	Load func(*state.CheckpointRef) (*disk.CheckpointFile, error)
}

// File is a file of an export.
type File struct {
	Name string // without directories
	Data []byte
	Link string // the name of another file, if this one is a symbolic link to it
}

// Exported describes an export.
type Exported struct {
	Files   int
	NoPlace []string // what the session has and the format can't hold
}

// Export converts a session. It calls write for each file; the last one makes the others
// known.
func Export(f Format, s Source, write func(File) error) (*Exported, error) {
	done := &Exported{NoPlace: withoutPlace(f, s.State)}
	counting := func(file File) error {
		done.Files++
		return write(file)
	}
	export := map[Format]func(Source, func(File) error) error{
		PRD: exportPRD, GoTeam: exportGoTeam, Orchestrate: exportOrchestrate, Crunch: exportCrunch,
	}[f]
	if err := export(s, counting); err != nil {
		return nil, fmt.Errorf("export %s as %s: %w", s.State.PRD, f, err)
	}
	return done, nil
}

// Target is the pipeline whose session shall begin from a checkpoint.
type Target struct {
	PRD      string
	Title    string
	Document string // the path of the pipeline's document; "": it has none
	Shape    state.Shape
	Now      time.Time
	// Artifacts returns the files that the artifacts of a workstream match now, and a glob of
	// them that matches none, if there is one. nil: no workstream declares artifacts.
	Artifacts func(workstream string) (files []string, unmatched string, err error)
}

// Taken is a checkpoint of another tool as a PRD document.
type Taken struct {
	Document document.File
	Files    []string // that were read
	NoPlace  []string // what the files have and a session can't hold
	Warnings []string // what a person should know before the session begins
}

// Import reads the checkpoint at path: a file, or a directory if the format has several
// files. Mistakes in the files are a *MistakesError.
func Import(f Format, path string, to Target) (*Taken, error) {
	read := map[Format]func(string, Target) (*Taken, error){
		PRD: importPRD, GoTeam: importGoTeam, Orchestrate: importOrchestrate, Crunch: importCrunch,
	}[f]
	taken, err := read(path, to)
	switch {
	case err != nil && strings.HasPrefix(err.Error(), path):
		return nil, fmt.Errorf("import %w", err)
	case err != nil:
		return nil, fmt.Errorf("import %s: %w", path, err)
	}
	return taken, nil
}

// Mistake is a value of a file that does not fit its format.
type Mistake struct {
	Path    string // of the file
	Line    int    // from 1; 0: not known
	Message string
}

// MistakesError lists all mistakes that were found in the files of a checkpoint.
type MistakesError struct {
	Format   Format
	Mistakes []Mistake
}

func (e *MistakesError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "it is no checkpoint of %s that this pipeline can take:", e.Format)
	for _, m := range e.Mistakes {
		b.WriteString("\n  " + m.Path)
		if m.Line > 0 {
			fmt.Fprintf(&b, ":%d", m.Line)
		}
		b.WriteString(": " + m.Message)
	}
	return b.String()
}
