package findings

import (
	"regexp"
	"strings"
)

// shapes holds the regular expressions for messages with a place. The named groups are
// file, line, col, sev and msg.
type shapes struct {
	colon    *regexp.Regexp // Go, gcc, clang, javac, eslint's unix format: file:1:2: error: message
	paren    *regexp.Regexp // tsc: file(1,2): error TS2339: message
	pretty   *regexp.Regexp // tsc --pretty: file:1:2 - error TS2339: message
	stylish  *regexp.Regexp // eslint under its file name: 1:2  error  message
	fileLine *regexp.Regexp // eslint's line that is a file name
	linker   *regexp.Regexp // file:(.text+0x5): undefined reference to `f'
	unplaced *regexp.Regexp // an error that has no place
	missing  *regexp.Regexp // a shell's: sh: 1: make: not found; zsh:1: command not found: make
	ansi     *regexp.Regexp

	verdict   *regexp.Regexp // go test: --- FAIL: TestX (0.01s)
	running   *regexp.Regexp // go test -v: === RUN   TestX
	testLine  *regexp.Regexp // go test:     x_test.go:1: message
	goFrame   *regexp.Regexp // Go's stack frames: <tab>file:1 +0x1d
	rustHead  *regexp.Regexp // error[E0425]: message
	rustPlace *regexp.Regexp //  --> src/lib.rs:1:2
	rustPanic *regexp.Regexp // thread 'tests::x' (12) panicked at src/lib.rs:1:2:
	rustTest  *regexp.Regexp // test tests::x ... FAILED
	pyFrame   *regexp.Regexp // File "x.py", line 1
	pyPlace   *regexp.Regexp // pytest: x.py:1: AssertionError
	nodeHead  *regexp.Regexp // Node: /x.js:1
	nodeError *regexp.Regexp // Node: TypeError: message
	jsFrame   *regexp.Regexp //     at f (x.js:1:2)
	javaHead  *regexp.Regexp // Exception in thread "main" X: message
	javaFrame *regexp.Regexp // <tab>at Main.main(Main.java:1)
}

func newShapes() *shapes {
	const file = `(?P<file>(?:[A-Za-z]:)?[^\s:()"'][^:()"']*\.[A-Za-z0-9_+]+)`
	return &shapes{
		colon:    regexp.MustCompile(`^(?:vet: )?` + file + `:(?P<line>\d+)(?::(?P<col>\d+))?:\s*(?:(?i:(?P<sev>fatal error|error|warning|note|info))\b:?\s*)?(?P<msg>.*)$`),
		paren:    regexp.MustCompile(`^` + file + `\((?P<line>\d+),(?P<col>\d+)\):\s*(?P<sev>error|warning)\s+(?P<msg>.*)$`),
		pretty:   regexp.MustCompile(`^` + file + `:(?P<line>\d+):(?P<col>\d+) - (?P<sev>error|warning)\s+(?P<msg>.*)$`),
		stylish:  regexp.MustCompile(`^\s+(?P<line>\d+):(?P<col>\d+)\s+(?P<sev>error|warning)\s+(?P<msg>.*)$`),
		fileLine: regexp.MustCompile(`^(?P<file>[^\s:][^:]*\.[A-Za-z0-9]+)$`),
		linker:   regexp.MustCompile(`^(?:\S*ld: )?` + file + `:\(\.[^)]*\): (?P<msg>undefined reference to .*)$`),
		unplaced: regexp.MustCompile(`^(?:[^\s:]+: )?(?i:(?:fatal )?error): .`),
		missing:  regexp.MustCompile(`^(?P<who>\S+): (?:(?:line )?(?P<line>\d+): )?(?P<name>\S+): (?:command |inaccessible or )?not found$|^zsh:(?:\d+:)? command not found: (?P<zsh>\S+)$`),
		ansi:     regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]"),

		verdict:   regexp.MustCompile(`^(?P<indent>\s*)--- (?P<verdict>FAIL|PASS|SKIP): (?P<test>\S+) \(`),
		running:   regexp.MustCompile(`^=== (?P<what>RUN|PAUSE|CONT|NAME)\s+(?P<test>\S*)`),
		testLine:  regexp.MustCompile(`^(?P<indent>\s*)(?P<file>[^\s:]+\.go):(?P<line>\d+): (?P<msg>.*)$`),
		goFrame:   regexp.MustCompile(`^\t(?P<file>\S+\.go):(?P<line>\d+)(?: \+0x[0-9a-f]+)?$`),
		rustHead:  regexp.MustCompile(`^(?P<sev>error|warning)(?P<code>\[\w+\])?: (?P<msg>.*)$`),
		rustPlace: regexp.MustCompile(`^\s*--> (?P<file>.+?):(?P<line>\d+):(?P<col>\d+)$`),
		rustPanic: regexp.MustCompile(`^thread '(?P<test>.*?)' (?:\(\d+\) )?panicked at (?:'(?P<msg>.*)', )?(?P<file>[^']+?):(?P<line>\d+):(?P<col>\d+):?$`),
		rustTest:  regexp.MustCompile(`^test (?P<test>\S+)(?: - should panic)? \.\.\. (?P<verdict>ok|FAILED|ignored.*|)$`),
		pyFrame:   regexp.MustCompile(`^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)`),
		pyPlace:   regexp.MustCompile(`^(?P<file>\S+\.py):(?P<line>\d+): (?P<msg>.*)$`),
		nodeHead:  regexp.MustCompile(`^(?:file://)?(?P<file>(?:/|[A-Za-z]:\\|node:)[^\s:]+):(?P<line>\d+)$`),
		nodeError: regexp.MustCompile(`^(?:Uncaught )?(?P<msg>[A-Z][\w.]*(?: \[\w+\])?: .*|[A-Z]\w*Error)$`),
		jsFrame:   regexp.MustCompile(`^\s+at (?:.* \()?(?P<file>[^\s()]+?):(?P<line>\d+):(?P<col>\d+)\)?$`),
		javaHead:  regexp.MustCompile(`^Exception in thread "[^"]*" (?P<msg>.*)$`),
		javaFrame: regexp.MustCompile(`^\s+at (?P<module>[\w.]+/)?[\w.$<>]+\((?P<file>\w+\.(?:java|kt|scala)):(?P<line>\d+)\)$`),
	}
}

// lineReader reads formats with place and message in one line, and eslint's blocks under
// the name of a file.
type lineReader struct {
	*run
	within   string // the file of eslint's following lines
	unplaced bool   // there was an error without a place
}

func (l *lineReader) readLine(line string) bool {
	if m := matchNamed(l.fileLine, line); m != nil && strings.ContainsAny(m["file"], `/\`) {
		l.within = m["file"]
		return true
	}
	text := strings.TrimLeft(line, " ")
	if strings.HasPrefix(text, "at ") { // a stack frame
		return false
	}
	for _, re := range []*regexp.Regexp{l.pretty, l.colon, l.paren} {
		if m := matchNamed(re, text); m != nil {
			l.takeMatch(m)
			return true
		}
	}
	if m := matchNamed(l.linker, line); m != nil {
		l.addFinding(wrong, findingAt(m))
		return true
	}
	if m := matchNamed(l.stylish, line); m != nil && l.within != "" {
		m["file"] = l.within
		l.takeMatch(m)
		return true
	}
	l.unplaced = l.unplaced || l.shapes.unplaced.MatchString(line)
	return false
}

func (l *lineReader) takeMatch(m map[string]string) {
	switch sev := strings.ToLower(m["sev"]); {
	case sev == "warning", sev == "note", sev == "info":
		l.addWarning(sev, findingAt(m))
	case sev == "" && m["col"] == "": // perhaps a line of a log
		l.addFinding(logged, findingAt(m))
	default:
		l.addFinding(wrong, findingAt(m))
	}
}

// finish drops the warnings if an error is the cause.
func (l *lineReader) finish() {
	if l.unplaced {
		l.found[warning] = nil
	}
}
