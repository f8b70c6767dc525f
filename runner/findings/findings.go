// Package findings extracts from the output of a compiler, a linter or a test program what
// failed, and in which line of which file.
//
// Each kind of output has a reader: Go's tests and panics (go.go), pytest, unittest and
// Python's tracebacks (python.go), rustc and cargo's tests (rust.go), Jest, Node and Java
// (trace.go), and formats with place and message in one line (line.go). A Finder passes the
// lines to the readers, and returns the most certain finding. The output of a test that
// passed is no finding.
//
// To read another kind of output, implement reader in a new file, add it in Find, its
// regular expressions to shapes (line.go), and examples to findings_test.go. What Runner
// does with a finding does not belong here. The readers know only the output, not the
// files.
package findings

import (
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Finding is a message and its place. File is relative to the workspace, with slashes, if
// it is inside. Line and Column begin at 1, and are 0 if the output does not name them.
type Finding struct {
	Message string
	File    string
	Line    int
	Column  int
}

// certainty ranks how likely a finding is the cause of a failure. The highest rank counts.
type certainty int

const (
	failed  certainty = iota // from a failed test or a crashed process; the first one counts
	wrong                    // from a compiler or linter; the first one counts
	trace                    // a stack trace, perhaps of a caught error; the last one counts
	logged                   // a place and a message without a severity; the last one counts
	warning                  // the first one counts
	certainties
)

// Finder extracts findings. It is safe for concurrent use.
type Finder struct{ *shapes }

// New returns a Finder.
func New() *Finder { return &Finder{newShapes()} }

// Find returns the most certain finding in an output. Files in the output are relative to
// dir, which is relative to the workspace. If nothing names a place, the message is the
// last line that is not empty.
func (f *Finder) Find(output, workspace, dir string) Finding {
	r := &run{shapes: f.shapes, workspace: workspace}
	readers := []reader{&goReader{run: r}, &rustReader{run: r}, &pythonReader{run: r}, &traceReader{run: r}, &lineReader{run: r}}
	last := ""
	for line := range strings.Lines(f.ansi.ReplaceAllString(output, "")) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) != "" {
			last = strings.TrimSpace(line)
		}
		for _, reader := range readers {
			if reader.readLine(line) {
				break
			}
		}
	}
	for _, reader := range readers {
		reader.finish()
	}
	for _, found := range r.found {
		if found != nil {
			found.File = Relative(found.File, workspace, dir)
			return *found
		}
	}
	return Finding{Message: last}
}

// reader understands one kind of output. It receives the lines in order, without their
// ends, and reports whether it used a line; later readers do not receive that line. After
// the last line, finish is called.
type reader interface {
	readLine(line string) bool
	finish()
}

// run holds the findings of one output.
type run struct {
	*shapes
	workspace string
	found     [certainties]*Finding
}

// addFinding records a finding that has a message.
func (r *run) addFinding(c certainty, f Finding) {
	latest := c == trace || c == logged
	if f.Message != "" && (latest || r.found[c] == nil) {
		r.found[c] = &f
	}
}

// addWarning records a warning. Its message includes the severity. A warning may be the
// reason why a linter failed, but a compiler continues after it, and the error that follows
// may have no place.
func (r *run) addWarning(severity string, f Finding) {
	if f.Message != "" {
		f.Message = severity + ": " + f.Message
	}
	r.addFinding(warning, f)
}

// isOwnFile reports whether a file of a stack trace belongs to the author, and not to the
// language or a library.
func (r *run) isOwnFile(file string) bool {
	for _, library := range []string{"node_modules/", "site-packages/", "node:"} {
		if strings.Contains(file, library) {
			return false
		}
	}
	if !filepath.IsAbs(file) {
		return true
	}
	rel, err := filepath.Rel(r.workspace, file)
	return err == nil && filepath.IsLocal(rel)
}

// findingAt returns the finding that the groups of a match describe.
func findingAt(m map[string]string) Finding {
	line, _ := strconv.Atoi(m["line"])
	col, _ := strconv.Atoi(m["col"])
	return Finding{Message: strings.TrimSpace(m["msg"]), File: strings.TrimPrefix(m["file"], "file://"), Line: line, Column: col}
}

// matchNamed returns the named groups of a match, or nil.
func matchNamed(re *regexp.Regexp, s string) map[string]string {
	m := re.FindStringSubmatch(s)
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for i, name := range re.SubexpNames() {
		if name != "" {
			out[name] = m[i]
		}
	}
	return out
}

// Relative returns the path of a file in the workspace, with slashes, as in a Finding. A
// relative file is relative to dir, which is relative to the workspace. A file outside of
// the workspace keeps its absolute path.
func Relative(file, workspace, dir string) string {
	name := filepath.ToSlash(file)
	if file == "" {
		return ""
	}
	if filepath.IsAbs(file) {
		if rel, err := filepath.Rel(workspace, file); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
		return name
	}
	if joined := path.Join(filepath.ToSlash(dir), name); !strings.HasPrefix(joined, "../") {
		return joined
	}
	return name
}

// NotFound is the message of a shell about a missing program.
type NotFound struct {
	Program string
	Script  string // the shell, or the script that it runs
	Line    int    // line of the script; 0 if it is not named
}

// Missing returns the program that a shell did not find, if the message is of that kind.
func (f *Finder) Missing(message string) (NotFound, bool) {
	m := matchNamed(f.missing, message)
	if m == nil {
		return NotFound{}, false
	}
	line, _ := strconv.Atoi(m["line"])
	return NotFound{Program: m["name"] + m["zsh"], Script: m["who"], Line: line}, true
}
