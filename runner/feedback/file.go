package feedback

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"prdrunner/checkpoint/state"
)

// maxTail is how much of the end of a log a document has, in bytes.
const maxTail = 8 << 10

// File is the file of RUNNER_FEEDBACK of one attempt.
type File struct {
	Path     string
	Document *Document // nil: there is nothing to tell, and no file
	// Log returns the end of a log by its name, "" if the log is gone.
	Log func(name string) string
}

// Write writes the file before the attempt starts.
func (f File) Write() error {
	if f.Document == nil {
		return nil
	}
	AddLogTails(f.Document.Failures, f.Log)
	if err := WriteJSON(f.Path, f.Document); err != nil {
		return fmt.Errorf("write what the attempt is told: %w", err)
	}
	return nil
}

// Remove removes the file, and what the attempt may have put in its place.
func (f File) Remove() { Remove(f.Path) }

// WriteJSON writes a document into a file that only this user can read.
func WriteJSON(path string, document any) error {
	data, err := state.EncodeJSON(document)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o600)
}

// Remove removes a file that a process was given, and what the process may have put in its
// place.
func Remove(path string) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		_ = os.RemoveAll(path) // what stays is removed when the session is opened again
	}
}

// AddLogTails adds to each failure the end of its log. read returns the end of a log by its
// name, "" if the log is gone.
func AddLogTails(failures []Failure, read func(name string) string) {
	for i := range failures {
		if failure := &failures[i]; failure.Log != "" {
			failure.LogTail = strings.ToValidUTF8(tail(read(string(failure.Log))), "\uFFFD")
		}
	}
}

// tail returns the last lines of a text.
func tail(text string) string {
	if len(text) <= maxTail {
		return text
	}
	text = text[len(text)-maxTail:]
	if i := strings.IndexByte(text, '\n'); i >= 0 && i < len(text)-1 {
		return text[i+1:]
	}
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}
