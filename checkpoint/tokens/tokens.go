// Package tokens finds private keys and access tokens in the bytes of files, by the forms
// that their makers gave them so that they can be found.
//
// Begin with New. A rule is a line of the table in rules.go. What is done with a file that
// holds a token is for others to decide. Files that only look sensitive by their names are
// for package workspace.
package tokens

import (
	"bytes"
	"regexp"
	"sync"
)

// window is the number of bytes that are searched again with the next ones. A match that
// is longer is found only if it does not cross the end of a piece.
const window = 4 << 10

// piece is the number of bytes that are collected before they are searched.
const piece = 64 << 10

// Detector searches the bytes that are written to it. It is not safe for concurrent use.
type Detector struct {
	rules    []rule
	buf      []byte // the bytes that have not been searched, after the window before them
	searched int    // how much of buf has been searched
	found    string
}

// New returns a function that makes detectors, which share the compiled rules.
func New() func() *Detector {
	rules := sync.OnceValue(table)
	return func() *Detector { return &Detector{rules: rules()} }
}

// Write adds bytes. It never fails.
func (d *Detector) Write(p []byte) (int, error) {
	d.buf = append(d.buf, p...)
	if len(d.buf)-d.searched >= piece {
		d.search()
	}
	return len(p), nil
}

// Found reports whether the bytes so far hold a key or a token.
func (d *Detector) Found() bool { return d.What() != "" }

// What returns the name of the rule that found something, or "".
func (d *Detector) What() string {
	if d.searched < len(d.buf) {
		d.search()
	}
	return d.found
}

func (d *Detector) search() {
	if d.found == "" {
		d.found = find(d.rules, d.buf)
	}
	if d.found != "" {
		d.buf, d.searched = nil, 0
		return
	}
	if extra := len(d.buf) - window; extra > 0 {
		d.buf = d.buf[:copy(d.buf, d.buf[extra:])]
	}
	d.searched = len(d.buf)
}

// find returns the name of the first rule that matches, or "".
func find(rules []rule, text []byte) string {
	for _, r := range rules {
		for _, literal := range r.literals {
			if bytes.Contains(text, literal) && r.pattern.Match(text) {
				return r.name
			}
		}
	}
	return ""
}

// rule is a kind of key or token.
type rule struct {
	name     string
	literals [][]byte // each match contains one of these; searching for them is quicker than the pattern
	pattern  *regexp.Regexp
}
