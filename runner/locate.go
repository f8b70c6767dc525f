package runner

import (
	"io"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxTail is how much of the end of a log is searched for what went wrong.
const maxTail = 256 << 10

// maxMessage is how many bytes of a line of output go on record as what went
// wrong. A line may be as long as the log is.
const maxMessage = 2000

// shortened is a text of at most maxMessage bytes, which says so where it was
// longer.
func shortened(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	const mark = "…"
	end := maxMessage - len(mark)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}

// finding is a message in a program's output that says where something is wrong.
type finding struct {
	message string
	file    string
	line    int
	column  int
}

// logTail reads the last part of a log.
func logTail(name string) string {
	f, err := OpenLog(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() > maxTail {
		if _, err := f.Seek(-maxTail, io.SeekEnd); err != nil {
			return ""
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTail))
	if err != nil {
		return ""
	}
	return string(text)
}

// shapes are the ways in which compilers, linters and test programs say where
// something is wrong. The named groups are file, line, col, sev and msg.
type shapes struct {
	colon    *regexp.Regexp // Go, gcc, clang, eslint's unix format: file:1:2: error: message
	paren    *regexp.Regexp // tsc: file(1,2): error TS2339: message
	pretty   *regexp.Regexp // tsc --pretty: file:1:2 - error TS2339: message
	stylish  *regexp.Regexp // eslint under its file name: 1:2  error  message
	python   *regexp.Regexp // File "x.py", line 1
	frame    *regexp.Regexp // Go's stack frames: <tab>file:1 +0x1d
	fileLine *regexp.Regexp // eslint's line that is a file name
	missing  *regexp.Regexp // a shell's: sh: 1: make: not found; zsh:1: command not found: make
	ansi     *regexp.Regexp
}

func newShapes() *shapes {
	const file = `(?P<file>(?:[A-Za-z]:)?[^\s:()"'][^:()"']*\.[A-Za-z0-9_+]+)`
	return &shapes{
		colon:    regexp.MustCompile(`^(?:vet: )?` + file + `:(?P<line>\d+)(?::(?P<col>\d+))?:\s*(?:(?i:(?P<sev>fatal error|error|warning|note|info))\b:?\s*)?(?P<msg>.*)$`),
		paren:    regexp.MustCompile(`^` + file + `\((?P<line>\d+),(?P<col>\d+)\):\s*(?P<sev>error|warning)\s+(?P<msg>.*)$`),
		pretty:   regexp.MustCompile(`^` + file + `:(?P<line>\d+):(?P<col>\d+) - (?P<sev>error|warning)\s+(?P<msg>.*)$`),
		stylish:  regexp.MustCompile(`^\s+(?P<line>\d+):(?P<col>\d+)\s+(?P<sev>error|warning)\s+(?P<msg>.*)$`),
		python:   regexp.MustCompile(`^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)`),
		frame:    regexp.MustCompile(`^\t(?P<file>\S+\.go):(?P<line>\d+)(?: \+0x[0-9a-f]+)?$`),
		fileLine: regexp.MustCompile(`^(?P<file>[^\s:][^:]*\.[A-Za-z0-9]+)$`),
		missing:  regexp.MustCompile(`^(?P<who>\S+): (?:(?:line )?(?P<line>\d+): )?(?P<name>\S+): (?:command |inaccessible or )?not found$|^zsh:(?:\d+:)? command not found: (?P<zsh>\S+)$`),
		ansi:     regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]"),
	}
}

// locate finds the first thing in an output that says where something is
// wrong. Without one, the message is the last line that is not empty.
func (s *shapes) locate(text, workspace, dir string) finding {
	sc := &locator{shapes: s}
	for line := range strings.Lines(s.ansi.ReplaceAllString(text, "")) {
		sc.next(strings.TrimRight(line, "\r\n"))
	}
	f := sc.result()
	if f.file != "" {
		f.file = relative(f.file, workspace, dir)
	}
	return f
}

// locator goes through an output line by line.
type locator struct {
	*shapes
	best    *finding // the first error
	warning *finding // the first warning, for want of an error
	python  *finding // the innermost frame of the last traceback
	panic   *finding // a Go panic that waits for its frame
	within  string   // the file that eslint's following lines speak of
	last    string
}

func (l *locator) next(line string) {
	if strings.TrimSpace(line) != "" {
		l.last = strings.TrimSpace(line)
	}
	if l.pytest(line) || l.goPanic(line) {
		return
	}
	if m := match(l.fileLine, line); m != nil && strings.ContainsAny(m["file"], `/\`) {
		l.within = m["file"]
		return
	}
	for _, re := range []*regexp.Regexp{l.pretty, l.colon, l.paren} {
		if m := match(re, strings.TrimLeft(line, " ")); m != nil {
			l.take(m)
			return
		}
	}
	if m := match(l.stylish, line); m != nil && l.within != "" {
		m["file"] = l.within
		l.take(m)
	}
}

// pytest follows Python's tracebacks and pytest's own lines, whose message
// stands apart from the place.
func (l *locator) pytest(line string) bool {
	if m := match(l.shapes.python, line); m != nil {
		l.python = toFinding(m)
		return true
	}
	if msg, ok := strings.CutPrefix(line, "E  "); ok {
		if l.python == nil {
			l.python = &finding{}
		}
		if l.python.message == "" {
			l.python.message = strings.TrimSpace(msg)
		}
		return true
	}
	if l.python == nil || line == "" || line[0] == ' ' {
		return false
	}
	if m := match(l.colon, line); m != nil && strings.HasSuffix(m["file"], ".py") {
		f := toFinding(m)
		if l.python.message != "" {
			f.message = l.python.message
		}
		l.settle(f)
		l.python = nil
		return true
	}
	if l.python.file != "" && strings.Contains(line, "Error") {
		l.python.message = line
		l.settle(l.python)
		l.python = nil
		return true
	}
	return false
}

// goPanic takes the first frame outside the runtime after "panic:".
func (l *locator) goPanic(line string) bool {
	if msg, ok := strings.CutPrefix(line, "panic: "); ok && l.panic == nil {
		l.panic = &finding{message: "panic: " + msg}
		return true
	}
	if l.panic == nil {
		return false
	}
	m := match(l.frame, line)
	if m == nil || strings.Contains(m["file"], "/runtime/") || strings.Contains(m["file"], "/testing/") {
		return false
	}
	f := toFinding(m)
	f.message = l.panic.message
	l.settle(f)
	l.panic = nil
	return true
}

func (l *locator) take(m map[string]string) {
	f := toFinding(m)
	switch strings.ToLower(m["sev"]) {
	case "warning", "note", "info":
		if l.warning == nil {
			l.warning = f
		}
	default:
		l.settle(f)
	}
}

func (l *locator) settle(f *finding) {
	if l.best == nil {
		l.best = f
	}
}

func (l *locator) result() finding {
	for _, f := range []*finding{l.best, l.python, l.panic, l.warning} {
		if f != nil && f.message != "" {
			return *f
		}
	}
	return finding{message: l.last}
}

func toFinding(m map[string]string) *finding {
	line, _ := strconv.Atoi(m["line"])
	col, _ := strconv.Atoi(m["col"])
	return &finding{message: strings.TrimSpace(m["msg"]), file: m["file"], line: line, column: col}
}

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

// relative makes a file of the output relative to the workspace, with slashes.
func relative(file, workspace, dir string) string {
	name := filepath.ToSlash(file)
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
