// Package sink writes what a run did to files, for programs that know nothing of Runner: its
// events as JSON lines, its steps as test results (JUnit), its errors as SARIF, a summary as
// Markdown, and its result as NAME=value lines.
//
// What is shown on a terminal or in a log, package view prints. What a run did, step by
// step, account.go gathers from the events; each other file writes one form of it. A sink
// never fails a run: Sink.Err says what could not be written.
//
// Begin with Open. To write another form, add a Kind and its row in forms.
package sink

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
)

// Options say what a sink needs besides the events.
type Options struct {
	Now  func() time.Time
	Logs view.Logs
	// State returns the state of the session; nil: it is not known.
	State func() *state.State
	// Below is the workspace relative to the root of the sources, slash-separated; "": it is
	// the root.
	Below string
	// Append adds to a file that another program reads and empties, instead of replacing it.
	Append bool
}

// Sink is a view of a run that writes a file.
type Sink interface {
	view.View
	// Path is the file.
	Path() string
}

// ForeignError is a file that was not written by a sink of that kind, and would be replaced.
type ForeignError struct {
	Kind Kind
	Path string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s exists, and is no %s file that Runner wrote", e.Path, e.Kind)
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
	case Events:
	}
	return form{opening: `{"format_version":"` + view.StreamFormat + `"`}
}

// Open returns the sink that writes to a path. The file is written when the run begins, and,
// but for events, again when it has ended. Open makes missing directories. It returns a
// *ForeignError for a file that must not be replaced.
func Open(k Kind, path string, o Options) (Sink, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	form := forms(k)
	if !o.Append {
		if err := checkReplaced(k, path, form.opening); err != nil {
			return nil, err
		}
	}
	if k == Events {
		f := &lazyFile{path: path}
		return &events{View: view.New(view.JSON, view.Options{Out: f, Now: o.Now}), file: f}, nil
	}
	return &report{path: path, form: form, o: o}, nil
}

// checkReplaced returns a *ForeignError for a file that does not begin as one of the kind.
func checkReplaced(k Kind, path, opening string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("write %s: %w", path, err)
	case !info.Mode().IsRegular():
		return nil // a pipe or a terminal
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { _ = f.Close() }()
	begins := make([]byte, len(opening))
	n, err := io.ReadFull(f, begins)
	switch {
	case n == 0 && errors.Is(err, io.EOF), err == nil && string(begins) == opening:
		return nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("write %s: %w", path, err)
	}
	return &ForeignError{k, path}
}

// report is a sink that writes its file when the run has ended. Until then the file says so
// by being empty: a reader must not take the file of an earlier run for that of one that was
// killed.
type report struct {
	path    string
	form    form
	o       Options
	account *account
	err     error
}

// Path implements Sink.
func (r *report) Path() string { return r.path }

// Begin implements runner.View.
func (r *report) Begin(b runner.Beginning) {
	r.account = newAccount(b)
	if !r.o.Append {
		r.err = replace(r.path, nil)
	}
}

// Commit implements runner.View.
func (r *report) Commit(c state.Commit) {
	for _, e := range c.Events {
		r.account.apply(c.Time, e)
	}
}

// Warn implements runner.View.
func (r *report) Warn(string) {}

// Stop implements runner.View.
func (r *report) Stop(runner.Stopping) {}

// End implements runner.View.
func (r *report) End(e runner.Ending) {
	if r.account == nil {
		return
	}
	r.account.ending = e
	if r.account.checkpoint == "" && r.o.State != nil { // nothing was done in this run
		if st := r.o.State(); st != nil && len(st.Checkpoints) > 0 {
			r.account.checkpoint = st.Checkpoints[len(st.Checkpoints)-1].ID
		}
	}
	var text bytes.Buffer
	err := r.form.write(&text, r.account, r.o)
	if err == nil {
		write := replace
		if r.o.Append {
			write = appendTo
		}
		err = write(r.path, text.Bytes())
	}
	r.err = errors.Join(r.err, err)
}

// Err implements view.View.
func (r *report) Err() error { return r.err }

// Close implements view.View.
func (r *report) Close() {}

// replace writes a file, whole or not at all if it is a regular one.
func replace(path string, data []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return appendTo(path, data)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Chmod(0o644)
	}
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// appendTo adds to the end of a file.
func appendTo(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(data)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// events is a sink that writes each event when it is durable.
type events struct {
	view.View
	file *lazyFile
}

// Path implements Sink.
func (e *events) Path() string { return e.file.path }

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
	path string
	file *os.File
	err  error // of Close
}

func (f *lazyFile) Write(b []byte) (int, error) {
	if f.file == nil {
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
