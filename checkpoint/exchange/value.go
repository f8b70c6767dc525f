package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"prdrunner/checkpoint/workspace"
)

const (
	maxFile  = 64 << 20 // the largest file that is read
	maxDepth = 100      // of values within values
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

// readFile reads a file of JSON, or of YAML if its name says so, from a directory.
func readFile(dir *os.Root, name, path string) (*file, error) {
	data, err := readIn(dir, name, path)
	if err != nil {
		return nil, err
	}
	return parse(path, data)
}

// readIn returns the bytes of a file in a directory. path names it in errors.
func readIn(dir *os.Root, name, path string) ([]byte, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|workspace.NonBlock, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readAll(f, path)
}

// readWhole returns the bytes of a file that the user has named.
func readWhole(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|workspace.NonBlock, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readAll(f, path)
}

func readAll(f *os.File, path string) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s has more than %d MiB", path, maxFile>>20)
	}
	return data, err
}

// parse reads JSON, or YAML if the name of the file ends with .yaml or .yml.
func parse(path string, data []byte) (*file, error) {
	f := &file{path: path}
	var err error
	if strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml") {
		f.root, err = f.parseYAML(data)
	} else {
		f.root, err = f.parseJSON(data)
	}
	return f, err
}

func (f *file) addMistake(line int, format string, args ...any) {
	f.mistakes = append(f.mistakes, Mistake{Path: f.path, Line: line, Message: fmt.Sprintf(format, args...)})
}

// errTooDeep reports values within values beyond maxDepth.
var errTooDeep = fmt.Errorf("it nests more than %d values", maxDepth)

// jsonReader reads values from JSON.
type jsonReader struct {
	file    *file
	data    []byte
	decoder *json.Decoder
	line    int
	counted int64 // the bytes whose lines are counted in line
}

func (f *file) parseJSON(data []byte) (*value, error) {
	r := &jsonReader{file: f, data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.decoder.UseNumber()
	v, err := r.value("", 0)
	if err == nil {
		if _, more := r.decoder.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more behind the JSON value")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", f.path, r.here(), err)
	}
	return v, nil
}

// here returns the line that the decoder has reached.
func (r *jsonReader) here() int {
	at := min(r.decoder.InputOffset(), int64(len(r.data)))
	r.line += bytes.Count(r.data[r.counted:at], []byte("\n"))
	r.counted = at
	return r.line
}

func (r *jsonReader) value(path string, depth int) (*value, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	token, err := r.decoder.Token()
	if err != nil {
		return nil, err
	}
	v := &value{file: r.file, path: path, line: r.here()}
	switch token := token.(type) {
	case nil:
		v.kind = null
	case string:
		v.kind, v.text = text, token
	case json.Number:
		v.kind, v.text = number, token.String()
	case bool:
		v.kind, v.text = boolean, strconv.FormatBool(token)
	case json.Delim:
		if token == '{' {
			return v, r.object(v, depth)
		}
		return v, r.list(v, depth)
	}
	return v, nil
}

func (r *jsonReader) object(v *value, depth int) error {
	v.kind = object
	for r.decoder.More() {
		name, err := r.decoder.Token()
		if err != nil {
			return err
		}
		line := r.here()
		field, err := r.value(joinPath(v.path, name.(string)), depth+1)
		if err != nil {
			return err
		}
		v.add(name.(string), line, field)
	}
	_, err := r.decoder.Token()
	return err
}

func (r *jsonReader) list(v *value, depth int) error {
	v.kind = list
	for r.decoder.More() {
		item, err := r.value(v.path+"[]", depth+1)
		if err != nil {
			return err
		}
		v.items = append(v.items, item)
	}
	_, err := r.decoder.Token()
	return err
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

func (f *file) parseYAML(data []byte) (*value, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: it has more than one YAML document", f.path)
	}
	v, err := f.ofYAML(document.Content[0], "", 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return v, nil
}

// ofYAML converts a node. It follows no aliases, with which a small file can stand for a
// large one.
func (f *file) ofYAML(n *yaml.Node, path string, depth int) (*value, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	v := &value{file: f, path: path, line: n.Line}
	switch n.Kind {
	case yaml.MappingNode:
		v.kind = object
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i]
			if name.Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("line %d: the name of a field must be a text", name.Line)
			}
			field, err := f.ofYAML(n.Content[i+1], joinPath(path, name.Value), depth+1)
			if err != nil {
				return nil, err
			}
			v.add(name.Value, name.Line, field)
		}
	case yaml.SequenceNode:
		v.kind = list
		for _, item := range n.Content {
			item, err := f.ofYAML(item, path+"[]", depth+1)
			if err != nil {
				return nil, err
			}
			v.items = append(v.items, item)
		}
	case yaml.ScalarNode:
		return v, v.scalar(n)
	default:
		return nil, fmt.Errorf("line %d: aliases are not read; write the value out", n.Line)
	}
	return v, nil
}

func (v *value) scalar(n *yaml.Node) error {
	v.text = n.Value
	switch n.ShortTag() {
	case "!!null":
		v.kind, v.text = null, ""
	case "!!bool":
		var is bool
		if err := n.Decode(&is); err != nil {
			return err
		}
		v.kind, v.text = boolean, strconv.FormatBool(is)
	case "!!int", "!!float":
		v.kind = number
		if json.Valid([]byte(n.Value)) {
			return nil
		}
		if whole, err := strconv.ParseInt(n.Value, 0, 64); err == nil { // 0x10, 1_000, +1
			v.text = strconv.FormatInt(whole, 10)
		} else if f, err := strconv.ParseFloat(n.Value, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) { // .5
			v.text = strconv.FormatFloat(f, 'g', -1, 64)
		} else { // .inf
			v.kind = text
		}
	default: // texts, and times, which YAML recognises without quotes
		v.kind = text
	}
	return nil
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
