// Package sink writes runs to files, for programs that do not know Runner. A Kind is a form
// of such a file: events as JSON lines, test results of JUnit, errors as SARIF, a summary in
// Markdown, or the result as NAME=value lines or for a shell.
//
// Package view prints a run on a terminal or in a log. This package gathers in account.go
// what each step did, and has one file for each form. A sink never fails a run: the Err of
// its view returns what could not be written.
//
// Begin with Open, or with Hand for what is no file. To write another form, add a Kind and a
// case in forms.
package sink

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/view"
)

// Kind is a form in which a run is written.
type Kind string

// The kinds.
const (
	Events  Kind = "events"
	JUnit   Kind = "junit"
	SARIF   Kind = "sarif"
	Summary Kind = "summary"
	Result  Kind = "result"
	Exports Kind = "exports" // the result for a shell
	Page    Kind = "html"    // a page about a session, which no sink writes
)

// Options say what a sink needs besides the events.
type Options struct {
	Now  func() time.Time
	Logs view.Logs
	// State returns the state of the session; nil: it is not known.
	State func() *state.State
	// Questions returns what the gates ask that wait when the run has paused; nil: it is not known. Only
	// Summary calls it.
	Questions func() []Question
	// Below is the workspace relative to the root of the sources, slash-separated; "": it is
	// the root.
	Below string
	// Append adds to a file that another program reads and empties, instead of replacing it.
	Append bool
	// Stream adds to Events what the steps print, while they run.
	Stream bool
}

// form is how a kind is written.
type form struct {
	opening string // the beginning of every file of the kind
	write   func(w io.Writer, a *account, o Options) error
}

func forms(k Kind) form {
	switch k {
	case JUnit:
		return form{junitOpening, writeJUnit}
	case SARIF:
		return form{sarifOpening, writeSARIF}
	case Summary:
		return form{summaryOpening, writeSummary}
	case Result:
		return form{resultOpening, writeResult}
	case Exports:
		return form{exportsOpening, writeExports}
	case Page:
		return form{opening: PageOpening}
	case Events:
	}
	return form{opening: `{"format_version":"`}
}

// Open returns the view that writes a run to a path. The file is written when the run begins,
// and, but for events, again when it has ended. Open makes missing directories. It returns a
// *ForeignError for a file that must not be replaced.
func Open(k Kind, path string, o Options) (view.View, error) {
	if to, err := filepath.EvalSymlinks(path); err == nil && !isStream(path) {
		path = to
	}
	form := forms(k)
	if !o.Append {
		if err := checkReplaced(k, path, form.opening); err != nil {
			return nil, err
		}
	}
	if k == Events {
		f := &lazyFile{kind: k, path: path, opening: form.opening}
		return &events{View: view.New(view.JSON, view.Options{Out: f, Now: o.Now, Logs: o.Logs, Stream: o.Stream}), file: f}, nil
	}
	r := &report{kind: k, path: path, form: form, o: o}
	if r.put = r.replace; o.Append {
		r.put = r.append
	}
	return r, nil
}

// Hand returns the view that hands what a run is written as to a function, when the run has ended.
// The Err of the view is what the function returned. The kind is none that is written while the run
// lasts, which Events is.
func Hand(k Kind, o Options, to func(e runner.Ending, text []byte) error) view.View {
	o.Append = true
	r := &report{kind: k, form: forms(k), o: o}
	r.put = func(text []byte) error { return to(r.account.ending, text) }
	return r
}

// report is a sink that writes its file when the run has ended. Until then the file says that the
// run has not: a reader must not take the file of an earlier run for that of one that was killed.
type report struct {
	kind    Kind
	path    string
	form    form
	o       Options
	put     func(text []byte) error // takes what is written at the end
	account *account
	err     error
}

// Begin implements runner.View.
func (r *report) Begin(b runner.Beginning) {
	r.account = newAccount(b)
	if r.o.Append {
		return
	}
	r.account.ending = runner.Ending{Status: state.StatusInProgress, Failed: []state.Failure{{Outcome: unended, Message: "the run has not ended: it goes on, or was killed"}}}
	var text bytes.Buffer
	if r.err = r.form.write(&text, r.account, r.o); r.err == nil {
		r.err = r.replace(text.Bytes())
	}
	r.account.ending = runner.Ending{}
}

// unended is the outcome in a file of a run that has not ended.
const unended = "unended"

// Commit implements runner.View.
func (r *report) Commit(c state.Commit) {
	for i, e := range c.Events {
		r.account.apply(c.At(i), e)
	}
}

// Warn implements runner.View.
func (r *report) Warn(string) {}

// Stop implements runner.View.
func (r *report) Stop(runner.Stopping) {}

// Await implements runner.View.
func (r *report) Await(runner.Awaited) {}

// End implements runner.View.
func (r *report) End(e runner.Ending) {
	if r.account == nil {
		return
	}
	r.account.ending = e
	if r.o.State != nil {
		r.account.reconcile(r.o.State())
	}
	var text bytes.Buffer
	err := r.form.write(&text, r.account, r.o)
	if err == nil {
		err = r.put(text.Bytes())
	}
	r.err = err // what could not be written at the beginning does not matter any more
}

// replace writes the file, unless something else has written it meanwhile.
func (r *report) replace(data []byte) error {
	if err := checkReplaced(r.kind, r.path, r.form.opening); err != nil {
		return err
	}
	return replace(r.path, data)
}

// append adds to the file.
func (r *report) append(data []byte) error { return appendTo(r.path, data) }

// Err implements view.View.
func (r *report) Err() error { return r.err }

// Close implements view.View.
func (r *report) Close() {}

// events is a sink that writes each event when it is durable.
type events struct {
	view.View
	file *lazyFile
}

// Close implements view.View.
func (e *events) Close() {
	e.View.Close()
	e.file.close()
}

// Err implements view.View.
func (e *events) Err() error { return errors.Join(e.View.Err(), e.file.err) }

// lazyFile is a file that is created at the first write: if the run does not begin, the file
// of the run before stays.
type lazyFile struct {
	kind    Kind
	path    string
	opening string
	file    *os.File
	err     error // of Close
}

func (f *lazyFile) Write(b []byte) (int, error) {
	if f.file == nil {
		if err := checkReplaced(f.kind, f.path, f.opening); err != nil {
			return 0, err
		}
		if err := makeDirectory(f.path); err != nil {
			return 0, err
		}
		file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return 0, fmt.Errorf("write %s: %w", f.path, err)
		}
		f.file = file
	}
	n, err := f.file.Write(b)
	if err != nil {
		return n, fmt.Errorf("write %s: %w", f.path, err)
	}
	return n, nil
}

func (f *lazyFile) close() {
	if f.file == nil {
		return
	}
	if err := f.file.Close(); err != nil {
		f.err = fmt.Errorf("write %s: %w", f.path, err)
	}
	f.file = nil
}
