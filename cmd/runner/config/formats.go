package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"go.yaml.in/yaml/v3"
)

func joinKey(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

// yamlEntries flattens a YAML document into entries; where is the line.
func yamlEntries(data []byte) ([]entry, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, yamlSyntaxError(err)
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, &syntaxError{message: "must be one YAML document"}
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, &syntaxError{line: root.Line, message: "must be a table of keys"}
	}
	entries := flattenYAML(nil, "", root)
	if len(entries) > maxKeys {
		return nil, &syntaxError{message: fmt.Sprintf("has more than %d keys, with those that its aliases stand for", maxKeys)}
	}
	return entries, nil
}

// yamlSyntaxError takes the line from the message of the YAML library, which reports it
// only there.
func yamlSyntaxError(err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	var line int
	if _, scanErr := fmt.Sscanf(message, "line %d:", &line); scanErr != nil {
		return &syntaxError{message: message}
	}
	_, rest, _ := strings.Cut(message, ": ")
	return &syntaxError{line: line, message: rest}
}

// maxKeys bounds the keys of a YAML file. By its aliases, a table can stand for more keys
// than fit in memory, and can contain itself.
const maxKeys = 1000

// flattenYAML appends the entries of a table. It stops when there are more than maxKeys.
func flattenYAML(entries []entry, prefix string, mapping *yaml.Node) []entry {
	for i := 0; i+1 < len(mapping.Content) && len(entries) <= maxKeys; i += 2 {
		name, value := mapping.Content[i], mapping.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		e := entry{key: joinKey(prefix, name.Value), where: fmt.Sprint(name.Line)}
		if value.Kind == yaml.MappingNode {
			e.value = section{}
			entries = flattenYAML(append(entries, e), e.key, value)
			continue
		}
		var decoded any
		if err := value.Decode(&decoded); err != nil {
			decoded = value.Value
		}
		e.value = normal(decoded)
		entries = append(entries, e)
	}
	return entries
}

// normal converts the number types of the decoders to int64, or to a string if the number
// is no integer.
func normal(value any) any {
	switch v := value.(type) {
	case int:
		return int64(v)
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		return v.String()
	default:
		return value
	}
}

// tomlEntries flattens a TOML document into entries; where is the line.
func tomlEntries(data []byte) ([]entry, error) {
	var tree map[string]any
	if err := toml.Unmarshal(data, &tree); err != nil {
		var decode *toml.DecodeError
		if errors.As(err, &decode) {
			line, _ := decode.Position()
			return nil, &syntaxError{line: line, message: strings.TrimPrefix(err.Error(), "toml: ")}
		}
		return nil, err
	}
	lines := tomlLines(data)
	return flattenTree("", tree, func(key string) string { return fmt.Sprint(nearestLine(lines, key)) }), nil
}

// tomlLines finds the line of each key and table.
func tomlLines(data []byte) map[string]int {
	lines := make(map[string]int)
	parser := &unstable.Parser{}
	parser.Reset(data)
	table := ""
	for parser.NextExpression() {
		expression := parser.Expression()
		prefix := table
		if expression.Kind != unstable.KeyValue {
			prefix = ""
		}
		key, line := prefix, 0
		for it := expression.Key(); it.Next(); {
			key = joinKey(key, string(it.Node().Data))
			line = parser.Shape(it.Node().Raw).Start.Line
			if _, seen := lines[key]; !seen {
				lines[key] = line
			}
		}
		if expression.Kind == unstable.Table {
			table = key
		}
	}
	return lines
}

// nearestLine returns the line of a key, or of the table that contains it.
func nearestLine(lines map[string]int, key string) int {
	for key != "" {
		if line, ok := lines[key]; ok {
			return line
		}
		key = key[:max(0, strings.LastIndexByte(key, '.'))]
	}
	return 1
}

// flattenTree flattens decoded tables.
func flattenTree(prefix string, tree map[string]any, where func(key string) string) []entry {
	var entries []entry
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		e := entry{key: joinKey(prefix, name), value: normal(tree[name])}
		e.where = where(e.key)
		if table, ok := tree[name].(map[string]any); ok {
			e.value = section{}
			entries = append(entries, e)
			entries = append(entries, flattenTree(e.key, table, where)...)
			continue
		}
		entries = append(entries, e)
	}
	return entries
}

// jsonEntries flattens a JSON object into entries; where is the line.
func jsonEntries(data []byte) ([]entry, error) {
	reader := jsonLines{decoder: json.NewDecoder(bytes.NewReader(data)), data: data, lines: make(map[string]int)}
	reader.decoder.UseNumber()
	err := reader.readValue("")
	if err == nil && reader.decoder.More() {
		err = errors.New("something follows the value")
	}
	var syntax *syntaxError
	if err != nil && !errors.As(err, &syntax) {
		err = &syntaxError{line: reader.currentLine(), message: "is not JSON: " + err.Error()}
	}
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var tree map[string]any
	if err := decoder.Decode(&tree); err != nil {
		return nil, &syntaxError{line: 1, message: "must be an object"}
	}
	return flattenTree("", tree, func(key string) string { return fmt.Sprint(reader.lines[key]) }), nil
}

// jsonLines finds the line of each key of a JSON text.
type jsonLines struct {
	decoder *json.Decoder
	data    []byte
	lines   map[string]int
}

func (j *jsonLines) currentLine() int {
	return 1 + bytes.Count(j.data[:j.decoder.InputOffset()], []byte{'\n'})
}

func (j *jsonLines) readValue(prefix string) error {
	token, err := j.decoder.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		for j.decoder.More() {
			if err := j.readMember(prefix); err != nil {
				return err
			}
		}
		_, err = j.decoder.Token()
	case json.Delim('['):
		for i := 0; j.decoder.More(); i++ {
			if err := j.readValue(fmt.Sprintf("%s[%d]", prefix, i)); err != nil {
				return err
			}
		}
		_, err = j.decoder.Token()
	}
	return err
}

func (j *jsonLines) readMember(prefix string) error {
	name, err := j.decoder.Token()
	if err != nil {
		return err
	}
	key := joinKey(prefix, fmt.Sprint(name))
	if earlier, twice := j.lines[key]; twice {
		return &syntaxError{line: j.currentLine(), message: fmt.Sprintf("%s is set already at line %d", key, earlier)}
	}
	j.lines[key] = j.currentLine()
	return j.readValue(key)
}
