package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Document is the PRD document: the progress of a pipeline, for people and other programs.
// It has the fields of the original format in their order, and one more, Runner. It is
// derived from the state.
type Document struct {
	PRD          string   `json:"prd"`
	Title        string   `json:"prd_title"`
	CurrentPhase int      `json:"current_phase"` // 0 before the first
	Status       Status   `json:"status"`
	Completed    []string `json:"completed_workstreams"`
	InProgress   []string `json:"in_progress_workstreams"`
	Pending      []string `json:"pending_workstreams"`
	// Artifacts are the files of each completed workstream that made some.
	Artifacts    map[string][]string `json:"artifacts"`
	GatesPassed  []string            `json:"gates_passed"` // labels: lint (WS3)
	GatesPending []string            `json:"gates_pending"`
	Timestamp    string              `json:"timestamp"` // ISO 8601
	Error        *DocumentError      `json:"error,omitempty"`
	Notes
	Imported *Imported       `json:"imported,omitempty"` // only before a session begins from it
	Runner   *DocumentRunner `json:"runner,omitempty"`   // nil in a document that was written by hand

	source documentSource
}

// documentSource is the file of a document that was written by hand. It is empty for every
// other document.
type documentSource struct {
	path     string
	index    lineIndex
	mistakes []mistake // what could not be decoded
}

// DocumentError says why a pipeline failed. Workstream holds the phase if the phase's own
// gate failed.
type DocumentError struct {
	Workstream string `json:"workstream"`
	Message    string `json:"message"`
	File       string `json:"file,omitempty"`
	Line       int    `json:"line,omitempty"`
}

// AdversarialReview is the result of a review before the first phase.
type AdversarialReview struct {
	Verdict        ReviewVerdict `json:"verdict"`
	P0Count        int           `json:"p0_count"`
	P1Count        int           `json:"p1_count"`
	Attempt        int           `json:"attempt"` // 1 or 2
	FindingsPath   string        `json:"findings_path,omitempty"`
	OverrideReason string        `json:"override_reason,omitempty"` // with overridden
}

// ReviewVerdict is the verdict of an adversarial review.
type ReviewVerdict string

// The verdicts of an adversarial review.
const (
	VerdictShip          ReviewVerdict = "ship"
	VerdictShipWithGates ReviewVerdict = "ship_with_gates"
	VerdictDoNotShip     ReviewVerdict = "do_not_ship"
	VerdictOverridden    ReviewVerdict = "overridden"
)

// Fix is a change that was made on the way.
type Fix struct {
	File   string `json:"file"`
	Change string `json:"change"`
}

// DocumentRunner is what Runner adds to the format.
type DocumentRunner struct {
	FormatVersion  string   `json:"format_version"`
	Session        string   `json:"session"`
	Seq            uint64   `json:"seq"`
	PipelineDigest string   `json:"pipeline_digest"`
	Skipped        []string `json:"skipped_workstreams"`
	Failed         []string `json:"failed_workstreams,omitempty"` // those whose failure the pipeline allows
	Checksum       string   `json:"checksum"`                     // over the document without it
}

// Encode returns the document as the bytes of its file, with its checksum.
func (d Document) Encode() ([]byte, error) {
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
	if err := e.Encode(d); err != nil {
		return nil, fmt.Errorf("encode the document of %s: %w", d.PRD, err)
	}
	return buf.Bytes(), nil
}

// checksum returns the checksum of the document's compact form with an empty checksum
// field.
func (d Document) checksum() (string, error) {
	r := *d.Runner
	r.Checksum = ""
	d.Runner = &r
	data, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("encode the document of %s: %w", d.PRD, err)
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// Intact reports whether the document is as Runner wrote it. A document written by hand is
// not.
func (d Document) Intact() bool {
	if d.Runner == nil {
		return false
	}
	sum, err := d.checksum()
	return err == nil && sum == d.Runner.Checksum
}

// DecodeDocument reads a document. A newer version is a *VersionError. Values of a wrong
// type, repeated fields and unknown fields of a document written by hand are no errors
// here; Validate reports them with the rules that it breaks.
func DecodeDocument(data []byte) (Document, error) {
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
		return Document{}, undecoded(data, err)
	}
	if version.Runner == nil {
		return decodeWritten(data)
	}
	if r := version.Runner; !Readable(r.FormatVersion) {
		return Document{}, &VersionError{Version: "format version " + r.FormatVersion}
	}
	var d Document
	if err := json.Unmarshal(data, &d); err != nil {
		return Document{}, undecoded(data, err)
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

// validUTF8 returns a text as valid UTF-8.
func validUTF8(t Text) string { return strings.ToValidUTF8(string(t), "\uFFFD") }

func timestamp(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }
