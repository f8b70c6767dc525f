package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxLine is the longest line that Parse accepts, in bytes.
const MaxLine = 64 << 10

// maxName is the longest id, key or name, in bytes.
const maxName = 256

// Type says what a report is about.
type Type string

// The types of reports.
const (
	TypeNote       Type = "note"
	TypeMessage    Type = "message"
	TypeConflict   Type = "conflict"
	TypeKnowledge  Type = "knowledge"
	TypeMetric     Type = "metric"
	TypeOutput     Type = "output"
	TypeState      Type = "state"
	TypeCheckpoint Type = "checkpoint"
)

// The kinds of notes. Each is a list in the PRD document.
const (
	NoteESLintFix = "eslint_fix"
	NoteKeyFix    = "key_fix"
	NoteCleanup   = "cleanup"
)

// Report is what a process reports in one line. Which fields it has depends on its type.
type Report struct {
	Type     Type     `json:"type"`
	ID       string   `json:"id,omitempty"`       // of a message, a conflict or knowledge
	Status   Status   `json:"status,omitempty"`   // of a message, a conflict or knowledge
	Kind     string   `json:"kind,omitempty"`     // of a note
	File     Text     `json:"file,omitempty"`     // of a note: what was changed
	Change   Text     `json:"change,omitempty"`   // of a note
	To       string   `json:"to,omitempty"`       // of a message: the receiver
	Body     Text     `json:"body,omitempty"`     // of a message
	Response Text     `json:"response,omitempty"` // to a message
	Parties  []string `json:"parties,omitempty"`  // of a conflict
	State    Text     `json:"state,omitempty"`    // of a conflict
	Reason   Text     `json:"reason,omitempty"`   // of a conflict, its resolution, or a checkpoint
	Name     string   `json:"name,omitempty"`     // of a metric or an output
	Key      string   `json:"key,omitempty"`      // of a value of the session's state
	Value    any      `json:"value,omitempty"`    // of a metric: a json.Number, bool or string; else a string
	Unset    bool     `json:"unset,omitempty"`    // the key is removed

	// Ack asks for an acknowledgement under this name, once the report is durable or
	// refused. It is not recorded.
	Ack string `json:"ack,omitempty"`
}

// Text returns the value of an output or of a key as text.
func (r *Report) Text() Text {
	s, _ := r.Value.(string)
	return Text(s)
}

// rule says which fields a type of report has.
type rule struct {
	required []string
	optional []string
	statuses []Status // what status can be; the first is the default
	kinds    []string // what kind can be
}

func ruleOf(t Type) (rule, bool) {
	switch t {
	case TypeNote:
		return rule{required: []string{"kind", "change"}, optional: []string{"file"}, kinds: []string{NoteESLintFix, NoteKeyFix, NoteCleanup}}, true
	case TypeMessage:
		return rule{required: []string{"id"}, optional: []string{"status", "to", "body", "response"}, statuses: []Status{Pending, Awaiting, Done}}, true
	case TypeConflict:
		return rule{required: []string{"id", "status"}, optional: []string{"parties", "reason", "state"}, statuses: []Status{Start, Resolved}}, true
	case TypeKnowledge:
		return rule{required: []string{"id", "status"}, statuses: []Status{Injected, Captured, Pending}}, true
	case TypeMetric, TypeOutput:
		return rule{required: []string{"name", "value"}}, true
	case TypeState:
		return rule{required: []string{"key"}, optional: []string{"value", "unset"}}, true
	case TypeCheckpoint:
		return rule{optional: []string{"reason"}}, true
	}
	return rule{}, false
}

// Types lists the types of reports.
func Types() []Type {
	return []Type{TypeNote, TypeMessage, TypeConflict, TypeKnowledge, TypeMetric, TypeOutput, TypeState, TypeCheckpoint}
}

// Parse reads one line. Its error says what is wrong with the line.
func Parse(line []byte) (Report, error) {
	switch {
	case len(line) > MaxLine:
		return Report{}, fmt.Errorf("it is longer than %d KiB", MaxLine>>10)
	case !utf8.Valid(line):
		return Report{}, errors.New("it is not UTF-8")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		return Report{}, fmt.Errorf("it is not a JSON object: %w", err)
	}
	var r Report
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&r); err != nil {
		return Report{}, plainTypeError(err)
	}
	rule, known := ruleOf(r.Type)
	if !known {
		return Report{}, fmt.Errorf("%q is no type of report; it is one of: %s", r.Type, list(Types()))
	}
	if err := rule.check(fields, &r); err != nil {
		return Report{}, fmt.Errorf("%s: %w", r.Type, err)
	}
	if err := r.normalize(fields); err != nil {
		return Report{}, fmt.Errorf("%s: %w", r.Type, err)
	}
	return r, nil
}

func (c rule) check(fields map[string]json.RawMessage, r *Report) error {
	for _, name := range c.required {
		if raw, has := fields[name]; !has || string(raw) == `""` || string(raw) == "null" {
			return fmt.Errorf("%q is missing", name)
		}
		if name == "change" && r.Change == "" { // an object for bytes that has none
			return fmt.Errorf("%q is missing", name)
		}
	}
	for name := range fields {
		if name != "type" && name != "ack" && !slices.Contains(c.required, name) && !slices.Contains(c.optional, name) {
			return fmt.Errorf("it has no field %q; its fields are: %s", name, list(slices.Concat(c.required, c.optional)))
		}
	}
	if r.Status != "" && !slices.Contains(c.statuses, r.Status) {
		return fmt.Errorf("%q is no status; it is one of: %s", r.Status, list(c.statuses))
	}
	if r.Kind != "" && !slices.Contains(c.kinds, r.Kind) {
		return fmt.Errorf("%q is no kind; it is one of: %s", r.Kind, list(c.kinds))
	}
	return r.checkNames()
}

func (r *Report) checkNames() error {
	for field, name := range map[string]string{"id": r.ID, "name": r.Name, "key": r.Key, "to": r.To, "ack": r.Ack} {
		if err := checkName(name); err != nil {
			return fmt.Errorf("%q %w", field, err)
		}
	}
	for _, party := range r.Parties {
		if err := checkName(party); err != nil {
			return fmt.Errorf("%q %w", "parties", err)
		}
	}
	if strings.Trim(r.Ack, "0123456789abcdef-") != "" {
		return fmt.Errorf("%q may only have the characters 0-9, a-f and -", "ack")
	}
	if (r.Type == TypeMetric || r.Type == TypeOutput) && !ValidName(r.Name) {
		return fmt.Errorf("%q is not a name (letters, digits, _ and -, beginning with a letter or _)", r.Name)
	}
	return nil
}

func checkName(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("is longer than %d bytes", maxName)
	}
	if strings.ContainsFunc(name, unicode.IsControl) {
		return errors.New("contains a control character")
	}
	return nil
}

// ValidName reports whether an expression of a pipeline can refer to the name.
func ValidName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != ""
}

// normalize checks and converts the value. A metric stays a number, a boolean or a text. An
// output or a value of the state becomes a text: JSON that is not a string is kept as it
// was written.
func (r *Report) normalize(fields map[string]json.RawMessage) error {
	switch r.Type {
	case TypeMetric:
		switch r.Value.(type) {
		case json.Number, bool, string:
			return nil
		}
		return errors.New(`"value" is a number, a boolean or a text`)
	case TypeState:
		if _, has := fields["value"]; has == r.Unset {
			return errors.New(`it has either "value" or "unset"`)
		}
	case TypeNote, TypeMessage, TypeConflict, TypeKnowledge, TypeOutput, TypeCheckpoint:
	}
	if _, isText := r.Value.(string); !isText && r.Value != nil {
		var compact bytes.Buffer
		if err := json.Compact(&compact, fields["value"]); err != nil {
			return fmt.Errorf("read the value: %w", err)
		}
		r.Value = compact.String()
	}
	if r.Type == TypeState && !r.Unset && r.Value == nil {
		r.Value = "null"
	}
	return nil
}

// Line returns the report as a line of RUNNER_REPORT, with its newline.
func (r Report) Line() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("encode the report: %w", err)
	}
	if b.Len() > MaxLine {
		return nil, fmt.Errorf("the report is longer than %d KiB", MaxLine>>10)
	}
	return b.Bytes(), nil
}

// plainTypeError says which field has the wrong type, without naming types of Go.
func plainTypeError(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%q cannot be a %s", wrong.Field, wrong.Value)
	}
	return err
}

func list[S ~string](words []S) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return strings.Join(texts, ", ")
}
