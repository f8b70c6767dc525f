// Package document makes and reads the PRD document of a session, PRD-009.json: the progress of
// a pipeline as a file for people and other programs.
//
//	bytes → Decode → File → CheckWritten → an event from which a session begins
//	State → New → File → Encode → bytes
//
// The bytes, their checksum and their lines belong here, and the rules of the format. What a
// document says is a state.Document, since an event carries it, and what a session takes over
// from one is decided where the event is folded, in package state. Where the file is, package
// disk knows. Begin with File, and for what a document written by hand must obey with rules.go.
package document

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"prdrunner/checkpoint/state"
)

// File is a PRD document, and for one that was written by hand what is known of its bytes.
type File struct {
	state.Document

	source source
}

// source is the file of a document that was written by hand. It is empty for every other
// document.
type source struct {
	path     string
	index    lineIndex
	mistakes []mistake // what could not be decoded
}

// Encode returns the document as the bytes of its file, with its checksum.
func (d File) Encode() ([]byte, error) {
	if d.Runner != nil {
		r := *d.Runner
		sum, err := d.checksum()
		if err != nil {
			return nil, err
		}
		r.Checksum = sum
		d.Runner = &r
	}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(d.Document); err != nil {
		return nil, fmt.Errorf("encode the document of %s: %w", d.PRD, err)
	}
	return buf.Bytes(), nil
}

// checksum returns the checksum of the document's compact form with an empty checksum
// field.
func (d File) checksum() (string, error) {
	r := *d.Runner
	r.Checksum = ""
	d.Runner = &r
	data, err := json.Marshal(d.Document)
	if err != nil {
		return "", fmt.Errorf("encode the document of %s: %w", d.PRD, err)
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// Intact reports whether the document is as Runner wrote it. A document written by hand is
// not.
func (d File) Intact() bool {
	if d.Runner == nil {
		return false
	}
	sum, err := d.checksum()
	return err == nil && sum == d.Runner.Checksum
}

// Decode reads a document. A newer version is a *state.VersionError. Values of a wrong
// type, repeated fields and unknown fields of a document written by hand are no errors
// here; Validate reports them with the rules that it breaks.
func Decode(data []byte) (File, error) {
	var version struct {
		Runner *struct {
			FormatVersion string `json:"format_version"`
		} `json:"runner"`
	}
	err := json.Unmarshal(data, &version)
	if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) && kind.Field == "" {
		err = nil // not an object: written by hand
	}
	if err != nil {
		return File{}, undecoded(data, err)
	}
	if version.Runner == nil {
		return decodeWritten(data)
	}
	if r := version.Runner; !state.Readable(r.FormatVersion) {
		return File{}, &state.VersionError{Version: "format version " + r.FormatVersion}
	}
	var d File
	if err := json.Unmarshal(data, &d.Document); err != nil {
		return File{}, undecoded(data, err)
	}
	return d, nil
}

// undecoded adds the line to a decoding error.
func undecoded(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("decode the document: line %d: %w", lineAt(data, syntax.Offset), err)
	case errors.As(err, &kind):
		return fmt.Errorf("decode the document: line %d: %w", lineAt(data, kind.Offset), err)
	}
	return fmt.Errorf("decode the document: %w", err)
}
