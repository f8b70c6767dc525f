package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// configEntry is one value in a source, before it is checked.
type configEntry struct {
	key     string
	value   any    // nil, bool, int64, float64, string, []any; section for a table
	textual bool   // the source has only text, which must be converted to the key's type
	where   string // file:line, a variable, a flag
}

// section is the value of a key that holds other keys.
type section struct{}

// configError lists everything that is wrong with the configuration.
type configError struct{ list []string }

func (e *configError) Error() string {
	if len(e.list) == 1 {
		return e.list[0]
	}
	return "the configuration has mistakes\n  " + strings.Join(e.list, "\n  ")
}

func (e *configError) add(err error) { e.list = append(e.list, err.Error()) }

func (e *configError) addf(where, format string, args ...any) {
	e.list = append(e.list, where+": "+fmt.Sprintf(format, args...))
}

// addNear adds a problem, and the name that the user may have meant.
func (e *configError) addNear(where, problem, near string) {
	if near != "" {
		problem += "; did you mean " + near + "?"
	}
	e.list = append(e.list, where+": "+problem)
}

// checkEntries checks the entries of one source against the table of keys.
func checkEntries(entries []configEntry, problems *configError) layer {
	if len(entries) == 0 {
		return layer{}
	}
	l := layer{values: make(map[string]any), sources: make(map[string]string)}
	known := make(map[string]configKey)
	for _, k := range configKeys() {
		known[k.name] = k
	}
	for _, entry := range entries {
		name := canonical(entry.key)
		key, isKey := known[name]
		switch {
		case !isKey && isSection(name, known):
			if entry.value != nil && entry.value != (section{}) {
				problems.addf(entry.where, "%s holds other keys and takes no value itself", entry.key)
			}
			continue
		case !isKey && mandatoryTrigger(name):
			problems.addf(entry.where, "%s is no key: this checkpoint is always made", entry.key)
			continue
		case !isKey:
			problems.addNear(entry.where, fmt.Sprintf("unknown key %s", entry.key), nearestKey(name))
			continue
		}
		value, problem := checkValue(key, entry)
		if earlier, twice := l.sources[name]; twice {
			problem = "is set already at " + earlier
		}
		if problem != "" {
			problems.addf(entry.where, "%s %s", entry.key, problem)
			continue
		}
		l.values[name], l.sources[name] = value, entry.where
	}
	return l
}

// isSection reports whether known keys begin with the given name.
func isSection(name string, known map[string]configKey) bool {
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
	for _, k := range configKeys() {
		names = append(names, k.name)
		for i := range k.name {
			if k.name[i] == '.' && !slices.Contains(names, k.name[:i]) {
				names = append(names, k.name[:i])
			}
		}
	}
	if near := nearest(name, names); near != "" {
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
func checkValue(key configKey, entry configEntry) (any, string) {
	value, expected := convert(key, entry)
	if expected != "" {
		return nil, fmt.Sprintf("must be %s, not %s", expected, describe(entry.value))
	}
	if key.refuse != nil {
		if why := key.refuse(value); why != "" {
			return nil, why
		}
	}
	return value, ""
}

// convert returns a value in the type of its key, or a description of the expected value.
func convert(key configKey, entry configEntry) (value any, expected string) {
	switch key.kind {
	case boolean:
		return convertBool(entry)
	case count:
		n, ok := convertInt(entry)
		if !ok || n < int64(key.least) || n > math.MaxInt32 {
			return nil, fmt.Sprintf("a whole number from %d to %d", key.least, math.MaxInt32)
		}
		return int(n), ""
	case duration:
		s, _ := entry.value.(string)
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 {
			return nil, `a duration such as "90s" or "168h"`
		}
		return d, ""
	case anyText:
		s, ok := entry.value.(string)
		if !ok {
			return nil, "a string"
		}
		return s, ""
	case word:
		s, _ := entry.value.(string)
		if !slices.Contains(key.words, s) {
			return nil, oneOf(key.words)
		}
		return s, ""
	case list:
		return convertList(entry)
	}
	return nil, "known"
}

func convertBool(entry configEntry) (any, string) {
	if b, ok := entry.value.(bool); ok {
		return b, ""
	}
	if s, _ := entry.value.(string); entry.textual && (s == "true" || s == "false") {
		return s == "true", ""
	}
	return nil, "true or false"
}

func convertInt(entry configEntry) (int64, bool) {
	switch v := entry.value.(type) {
	case int64:
		return v, true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, entry.textual && err == nil
	default:
		return 0, false
	}
}

func convertList(entry configEntry) (any, string) {
	if s, ok := entry.value.(string); ok && entry.textual {
		return strings.Split(s, ","), ""
	}
	items, ok := entry.value.([]any)
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
