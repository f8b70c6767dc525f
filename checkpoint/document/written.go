package document

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/agext/levenshtein"

	"prdrunner/checkpoint/state"
)

// decodeWritten reads the parts of a hand-written document that fit the format. The other
// parts become mistakes, which CheckWritten and Validate report.
func decodeWritten(data []byte) (File, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var written any
	if err := decoder.Decode(&written); err != nil {
		return File{}, undecoded(data, err)
	}
	var d File
	index, repeated := indexLines(data)
	f := fitting{lines: index, mistakes: repeated}
	if written == nil {
		f.addWrongType(nil, reflect.TypeOf(d.Document), "")
	}
	fields, ok := f.fitValue(written, reflect.TypeOf(d.Document), "")
	if ok {
		readable, err := json.Marshal(fields)
		if err == nil {
			err = state.DecodeJSON(readable, &d.Document)
		}
		if err != nil {
			return File{}, fmt.Errorf("decode the document: %w", err)
		}
	}
	d.source = source{index: index, mistakes: f.mistakes}
	return d, nil
}

// fitting converts JSON to the types of the format.
type fitting struct {
	lines    lineIndex
	mistakes []mistake
}

// mistake is a value that does not fit the format.
type mistake struct {
	field string // its path
	Violation
}

// ReadFrom notes the file that a document was read from, for the errors about a
// document that was written by hand.
func (d *File) ReadFrom(path string) {
	if d.Runner == nil {
		d.source.path = path
	}
}

// FirstMistake returns the first value of a document written by hand that its
// format does not have, nil where there is none.
func (d *File) FirstMistake() error {
	if len(d.source.mistakes) == 0 {
		return nil
	}
	return d.source.mistakes[0]
}

func (f *fitting) addMistake(field, format string, args ...any) {
	f.mistakes = append(f.mistakes, mistake{field, Violation{Line: f.lines[field], Message: fmt.Sprintf(format, args...)}})
}

// addWrongType adds the mistake that a value has the wrong type.
func (f *fitting) addWrongType(v any, t reflect.Type, field string) {
	is := kindOf(v)
	if number, ok := v.(json.Number); ok && t.Kind() == reflect.Int {
		is = number.String()
	}
	f.addMistake(field, "%s is %s, not %s", cmp.Or(field, "the document"), is, kindOfType(t))
}

// fitValue returns the part of v that fits a type; false if none does. Null fits every
// type, like an absent field.
func (f *fitting) fitValue(v any, t reflect.Type, field string) (any, bool) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := v.(type) {
	case nil:
		return nil, true
	case map[string]any:
		if t.Kind() == reflect.Struct || t.Kind() == reflect.Map {
			return f.object(v, t, field), true
		}
	case []any:
		if t.Kind() == reflect.Slice {
			return f.fitList(v, t.Elem(), field), true
		}
	case string:
		if t.Kind() == reflect.String || t.Kind() == reflect.Interface {
			return v, true
		}
	case bool:
		if t.Kind() == reflect.Interface {
			return v, true
		}
	case json.Number:
		if t.Kind() == reflect.Interface {
			return v, true
		}
		if _, err := strconv.Atoi(v.String()); err == nil && t.Kind() == reflect.Int {
			return v, true
		}
	}
	f.addWrongType(v, t, field)
	return nil, false
}

// object fits the values of a map or the fields of a struct.
func (f *fitting) object(object map[string]any, t reflect.Type, field string) map[string]any {
	var known map[string]reflect.Type
	if t.Kind() == reflect.Struct {
		known = fieldTypes(t)
	}
	fit := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		path := joinField(field, key)
		of, ok := known[key]
		switch {
		case t.Kind() == reflect.Map:
			of = t.Elem()
		case !ok:
			f.unknown(path, key, slices.Sorted(maps.Keys(known)))
			continue
		}
		if v, ok := f.fitValue(object[key], of, path); ok {
			fit[key] = v
		}
	}
	return fit
}

// fitList fits each element. An element that does not fit becomes null, which is read as
// an empty one, so that later ones keep their index.
func (f *fitting) fitList(list []any, of reflect.Type, field string) []any {
	fit := make([]any, len(list))
	for i, v := range list {
		path := fmt.Sprintf("%s[%d]", field, i)
		if v == nil {
			f.addWrongType(nil, of, path)
		}
		fit[i], _ = f.fitValue(v, of, path)
	}
	return fit
}

func (f *fitting) unknown(field, key string, known []string) {
	near := nearestField(key, known)
	if near != "" {
		near = fmt.Sprintf("; did you mean %q?", near)
	}
	f.addMistake(field, "%s is no field of the format%s", field, near)
}

// fieldTypes returns the fields of a struct by their JSON names.
func fieldTypes(t reflect.Type) map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" {
			types[name] = field.Type
		}
	}
	return types
}

// nearestField returns the field that an unknown name probably means: the one that differs
// least, or one with the same first word. It is "" if none is near.
func nearestField(name string, fields []string) string {
	best, distance := "", max(2, len(name)/4)+1
	for _, field := range fields {
		first, _, _ := strings.Cut(field, "_")
		for _, candidate := range []string{field, first} {
			if d := levenshtein.Distance(strings.ToLower(name), candidate, nil); d < distance {
				best, distance = field, d
			}
		}
	}
	return best
}

// kindOf names a JSON value for people.
func kindOf(v any) string {
	switch v := v.(type) {
	case string:
		return "a text"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	case nil:
		return "null"
	default:
		return fmt.Sprint(v) // true or false
	}
}

// kindOfType names the kind of value that a type needs.
func kindOfType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Int:
		return "a whole number"
	case reflect.Slice:
		return "a list"
	case reflect.Interface:
		return "a number, a text, true or false"
	default:
		return "an object"
	}
}
