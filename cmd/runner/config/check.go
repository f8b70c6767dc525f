package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"prdrunner/cmd/runner/words"
)

// entry is one value in a source, before it is checked.
type entry struct {
	key     string
	value   any    // nil, bool, int64, float64, string, []any; section for a table
	textual bool   // the source has only text, which must be converted to the key's type
	where   string // file:line, a variable, a flag
}

// section is the value of a key that holds other keys.
type section struct{}

// Error reports everything that is wrong with the configuration.
type Error struct{ list []string }

// Error implements error. It has one line per mistake.
func (e *Error) Error() string {
	if len(e.list) == 1 {
		return e.list[0]
	}
	return "the configuration has mistakes\n  " + strings.Join(e.list, "\n  ")
}

func (e *Error) addError(err error) { e.list = append(e.list, err.Error()) }

func (e *Error) addMistake(where, format string, args ...any) {
	e.list = append(e.list, where+": "+fmt.Sprintf(format, args...))
}

// addNear adds a problem, and the name that the user may have meant.
func (e *Error) addNear(where, problem, near string) {
	if near != "" {
		problem += "; did you mean " + near + "?"
	}
	e.list = append(e.list, where+": "+problem)
}

// checkEntries checks the entries of one source against the table of keys.
func checkEntries(entries []entry, problems *Error) layer {
	if len(entries) == 0 {
		return layer{}
	}
	l := layer{values: make(map[string]any), sources: make(map[string]string)}
	known := make(map[string]Key)
	for _, k := range Keys() {
		known[k.Name] = k
	}
	for _, e := range entries {
		name := canonical(e.key)
		key, isKey := known[name]
		switch {
		case !isKey && isSection(name, known):
			if e.value != nil && e.value != (section{}) {
				problems.addMistake(e.where, "%s holds other keys and takes no value itself", e.key)
			}
			continue
		case !isKey && mandatoryTrigger(name):
			problems.addMistake(e.where, "%s is no key: this checkpoint is always made", e.key)
			continue
		case !isKey:
			problems.addNear(e.where, fmt.Sprintf("unknown key %s", e.key), nearestKey(name))
			continue
		}
		value, problem := checkValue(key, e)
		if earlier, twice := l.sources[name]; twice {
			problem = "is set already at " + earlier
		}
		if problem != "" {
			problems.addMistake(e.where, "%s %s", e.key, problem)
			continue
		}
		l.values[name], l.sources[name] = value, e.where
	}
	return l
}

// isSection reports whether known keys begin with the given name.
func isSection(name string, known map[string]Key) bool {
	for key := range known {
		if strings.HasPrefix(key, name+".") {
			return true
		}
	}
	return false
}

// nearestKey returns the key that the user most likely meant: the most similar one, or one
// with the same last part in another section.
func nearestKey(name string) string {
	var names []string
	for _, k := range Keys() {
		names = append(names, k.Name)
		for i := range k.Name {
			if k.Name[i] == '.' && !slices.Contains(names, k.Name[:i]) {
				names = append(names, k.Name[:i])
			}
		}
	}
	if near := words.Nearest(name, names); near != "" {
		return near
	}
	leaf := name[strings.LastIndexByte(name, '.')+1:]
	for _, candidate := range names {
		if candidate == leaf || strings.HasSuffix(candidate, "."+leaf) {
			return candidate
		}
	}
	return ""
}

// checkValue returns a value in the type of its key, or the problem with it.
func checkValue(key Key, e entry) (any, string) {
	value, expected := convert(key, e)
	if expected != "" {
		return nil, fmt.Sprintf("must be %s, not %s", expected, describe(e.value))
	}
	if key.refuse != nil {
		if why := key.refuse(value); why != "" {
			return nil, why
		}
	}
	return value, ""
}

// convert returns a value in the type of its key, or a description of the expected value.
func convert(key Key, e entry) (value any, expected string) {
	switch key.kind {
	case boolean:
		return convertBool(e)
	case count:
		n, ok := convertInt(e)
		if !ok || n < int64(key.least) || n > math.MaxInt32 {
			return nil, fmt.Sprintf("a whole number from %d to %d", key.least, math.MaxInt32)
		}
		return int(n), ""
	case duration:
		s, _ := e.value.(string)
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 {
			return nil, `a duration such as "90s" or "168h"`
		}
		return d, ""
	case anyText:
		s, ok := e.value.(string)
		if !ok {
			return nil, "a string"
		}
		return s, ""
	case word:
		s, _ := e.value.(string)
		if !slices.Contains(key.words, s) {
			return nil, words.OneOf(key.words)
		}
		return s, ""
	case list:
		return convertList(e)
	}
	return nil, "known"
}

func convertBool(e entry) (any, string) {
	if b, ok := e.value.(bool); ok {
		return b, ""
	}
	if s, _ := e.value.(string); e.textual && (s == "true" || s == "false") {
		return s == "true", ""
	}
	return nil, "true or false"
}

func convertInt(e entry) (int64, bool) {
	switch v := e.value.(type) {
	case int64:
		return v, true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, e.textual && err == nil
	default:
		return 0, false
	}
}

func convertList(e entry) (any, string) {
	if s, ok := e.value.(string); ok && e.textual {
		return strings.Split(s, ","), ""
	}
	items, ok := e.value.([]any)
	result := make([]string, 0, len(items))
	for _, item := range items {
		s, isString := item.(string)
		ok = ok && isString
		result = append(result, s)
	}
	if !ok {
		return nil, "a list of strings"
	}
	return result, ""
}

// describe returns a value as a message shows it.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "nothing"
	case section:
		return "a table of keys"
	case []any:
		return "a list"
	case string:
		return strconv.Quote(v)
	default:
		return fmt.Sprint(v)
	}
}
