package exchange

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// file is a file of another tool while it is read. It remembers which values were
// understood, so that the others can be listed.
type file struct {
	path     string
	mistakes []Mistake
	root     *value
}

// value is a value of JSON or YAML. A value that is not there has no kind.
type value struct {
	file   *file
	path   string // workflow_state.current_phase
	line   int
	kind   kind
	text   string // of a text, a number, true or false
	names  []string
	fields map[string]*value
	items  []*value
	known  bool // it was understood
}

type kind string

const (
	absent  kind = ""
	null    kind = "null"
	text    kind = "a text"
	number  kind = "a number"
	boolean kind = "true or false"
	list    kind = "a list"
	object  kind = "an object"
)

func (f *file) addMistake(line int, format string, args ...any) {
	f.mistakes = append(f.mistakes, Mistake{Path: f.path, Line: line, Message: fmt.Sprintf(format, args...)})
}

// add adds a field. It reports one that is there twice.
func (v *value) add(name string, line int, field *value) {
	if _, twice := v.fields[name]; twice {
		v.file.addMistake(line, "%s is there twice", joinPath(v.path, name))
		return
	}
	if v.fields == nil {
		v.fields = map[string]*value{}
	}
	v.names = append(v.names, name)
	v.fields[name] = field
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// field returns a field of an object. Its methods work if it is not there.
func (v *value) field(names ...string) *value {
	at := v
	for _, name := range names {
		at.expect(object)
		next := at.fields[name]
		if next == nil {
			next = &value{file: at.file, path: joinPath(at.path, name), line: at.line}
		}
		at = next
	}
	return at
}

// expect reports whether the value is of a kind. If it is of another one, and neither
// absent nor null, that is a mistake.
func (v *value) expect(want kind) bool {
	v.known = true
	if v.kind == want {
		return true
	}
	if v.kind != absent && v.kind != null {
		v.mistake("is %s, not %s", v.kind, want)
		v.kind = null // it is reported once
	}
	return false
}

// mistake reports what is wrong with the value.
func (v *value) mistake(format string, args ...any) {
	name := v.path
	if name == "" {
		name = "the file"
	}
	v.file.addMistake(v.line, "%s "+format, append([]any{name}, args...)...)
}

// isEmpty reports whether the value says nothing.
func (v *value) isEmpty() bool {
	switch v.kind {
	case absent, null:
		return true
	case text:
		return v.text == ""
	case list, object:
		return len(v.items)+len(v.fields) == 0
	case number, boolean:
	}
	return false
}

func (v *value) asText() string {
	if v.expect(text) {
		return v.text
	}
	return ""
}

// needText is asText for a value that must be there.
func (v *value) needText() string {
	if v.isEmpty() {
		v.known = true
		v.mistake("is missing")
		return ""
	}
	return v.asText()
}

func (v *value) asInt() int {
	if !v.expect(number) {
		return 0
	}
	n, err := strconv.Atoi(v.text)
	if err != nil || n < 0 {
		v.mistake("is %s, not a whole number", v.text)
		return 0
	}
	return n
}

// asBool returns true or false, or otherwise if the value is not there.
func (v *value) asBool(otherwise bool) bool {
	if v.expect(boolean) {
		return v.text == "true"
	}
	return otherwise
}

// asTime returns a time in RFC 3339, "" if there is none. YAML may have a space instead of
// the T.
func (v *value) asTime() string {
	t := v.asText()
	if t == "" {
		return ""
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05"} {
		if at, err := time.Parse(form, t); err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
	}
	v.mistake("is %q, not an ISO 8601 time such as 2025-01-14T10:00:00Z", t)
	return ""
}

func (v *value) asItems() []*value {
	v.expect(list)
	return v.items
}

// needItems is asItems for a list that must be there, even if it is empty.
func (v *value) needItems() []*value {
	if v.kind != list {
		v.known = true
		v.mistake("is missing")
		return nil
	}
	return v.asItems()
}

func (v *value) asTexts() []string {
	var all []string
	for _, item := range v.asItems() {
		if t := item.asText(); t != "" {
			all = append(all, t)
		}
	}
	return all
}

// asFields returns the names of the fields of an object, sorted.
func (v *value) asFields() []string {
	v.expect(object)
	return slices.Sorted(slices.Values(v.names))
}

// ignore marks the value as understood, with all that is in it: a session has it in
// another form, or makes it again.
func (v *value) ignore() {
	v.known = true
	for _, item := range v.items {
		item.ignore()
	}
	for _, field := range v.fields {
		field.ignore()
	}
}

// compact returns the value as text: a text as it is, and anything else as compact JSON.
func (v *value) compact() string {
	v.ignore()
	if v.kind == text {
		return v.text
	}
	return v.json()
}

func (v *value) json() string {
	switch v.kind {
	case absent, null:
		return "null"
	case number, boolean:
		return v.text
	case text:
		data, _ := json.Marshal(v.text) // a string can be encoded
		return string(data)
	case list, object:
	}
	parts := make([]string, 0, len(v.items)+len(v.names))
	for _, item := range v.items {
		parts = append(parts, item.json())
	}
	for _, name := range v.names {
		quoted, _ := json.Marshal(name)
		parts = append(parts, string(quoted)+":"+v.fields[name].json())
	}
	if v.kind == list {
		return "[" + strings.Join(parts, ",") + "]"
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// unknown returns the paths of the values that were not understood and are not empty.
func (v *value) unknown() []string {
	found := map[string]bool{}
	v.addUnknown(found)
	return slices.Sorted(maps.Keys(found))
}

func (v *value) addUnknown(found map[string]bool) {
	switch {
	case v.isEmpty():
	case !v.known:
		found[v.path] = true
	default:
		for _, item := range v.items {
			item.addUnknown(found)
		}
		for _, field := range v.fields {
			field.addUnknown(found)
		}
	}
}

// compactText is compact, and "" if there is nothing.
func (v *value) compactText() string {
	if v.isEmpty() {
		v.known = true
		return ""
	}
	return v.compact()
}
