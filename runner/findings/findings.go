// Package findings reads in the output of a compiler, a linter or a test program
// what is wrong, and in which line of which file.
//
// Each kind of output has a reader of its own: Go's tests and panics (go.go),
// pytest, unittest and Python's tracebacks (python.go), rustc and cargo's tests
// (rust.go), Jest, Node and Java (trace.go), and what gives a place and a message
// in one line (line.go). A Finder shows them the output line by line, and then
// takes the most certain of what they found. What a test that passed has printed
// is no finding.
//
// What Runner does with a finding does not belong here, and neither does a file's
// content: the readers know nothing but the output.
package findings

import (
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Finding is what is wrong, and where. File is relative to the workspace, with
// slashes, where it is inside of it; Line and Column begin at 1, and are 0 where
// the output does not name them.
type Finding struct {
	Message string
	File    string
	Line    int
	Column  int
}

// certainty is how sure it is that a finding is why a program failed. The most
// certain one counts.
type certainty int

const (
	failed  certainty = iota // of a test that failed, of a process that broke off; the first one counts
	wrong                    // of a compiler or linter; the first one counts
	trace                    // a stack trace, which may be of an error that was caught; the last one counts
	logged                   // a place and a message that no severity came with; the last one counts
	warning                  // the first one counts
	certainties
)

// Finder finds. It can be used by several goroutines at once.
type Finder struct{ *shapes }

// New returns a Finder.
func New() *Finder { return &Finder{newShapes()} }

// Find returns what is wrong according to an output that was written in dir, a
// directory relative to the workspace. Where nothing in it names a place, the
// message is its last line that is not empty.
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
			if reader.next(line) {
				break
			}
		}
	}
	for _, reader := range readers {
		reader.end()
	}
	for _, found := range r.found {
		if found != nil {
			found.File = Relative(found.File, workspace, dir)
			return *found
		}
	}
	return Finding{Message: last}
}

// reader knows one kind of output. It gets an output's lines, without their ends,
// in their order, and reports whether it took a line, which no reader after it
// gets then. end follows the last line.
type reader interface {
	next(line string) bool
	end()
}

// run is what the readers of one output share.
type run struct {
	*shapes
	workspace string
	found     [certainties]*Finding
}

// add takes a finding that has a message.
func (r *run) add(c certainty, f Finding) {
	latest := c == trace || c == logged
	if f.Message != "" && (latest || r.found[c] == nil) {
		r.found[c] = &f
	}
}

// warn takes a finding that is no error. Its message says so: warnings may be why a
// linter failed, but a compiler goes on after them, and what failed then may have
// named no place.
func (r *run) warn(severity string, f Finding) {
	if f.Message != "" {
		f.Message = severity + ": " + f.Message
	}
	r.add(warning, f)
}

// own reports whether a file of a stack trace is the author's, and not one of the
// language or of a library.
func (r *run) own(file string) bool {
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

// at is the finding that the groups of a match describe.
func at(m map[string]string) Finding {
	line, _ := strconv.Atoi(m["line"])
	col, _ := strconv.Atoi(m["col"])
	return Finding{Message: strings.TrimSpace(m["msg"]), File: strings.TrimPrefix(m["file"], "file://"), Line: line, Column: col}
}

// match returns what the named groups of an expression match, nil where it does
// not match.
func match(re *regexp.Regexp, s string) map[string]string {
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

// Relative returns the path of a file in the workspace, with slashes, as a Finding
// has it. dir is the directory, relative to the workspace, from which the file is
// named. A file outside of the workspace keeps its absolute path.
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

// NotFound is what a shell says of a program that it did not find.
type NotFound struct {
	Program string
	Script  string // who says it: the shell, or the script that it runs
	Line    int    // of the script, 0 where it is not named
}

// Missing returns the program that a shell did not find, if that is what the
// message says.
func (f *Finder) Missing(message string) (NotFound, bool) {
	m := match(f.missing, message)
	if m == nil {
		return NotFound{}, false
	}
	line, _ := strconv.Atoi(m["line"])
	return NotFound{Program: m["name"] + m["zsh"], Script: m["who"], Line: line}, true
}
