package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"

	"go.yaml.in/yaml/v3"

	"prdrunner/checkpoint/workspace"
)

const (
	maxFile  = 64 << 20 // the largest file that is read
	maxDepth = 100      // of values within values
)

// errTooDeep reports values within values beyond maxDepth.
var errTooDeep = fmt.Errorf("it nests more than %d values", maxDepth)

// readFile reads a file in a directory. path names it in errors.
func readFile(dir *os.Root, name, path string, parse func(path string, data []byte) (*file, error)) (*file, error) {
	data, err := readIn(dir, name, path)
	if err != nil {
		return nil, err
	}
	return parse(path, data)
}

// readIn returns the bytes of a file in a directory. path names it in errors.
func readIn(dir *os.Root, name, path string) ([]byte, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|workspace.NonBlock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
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

// parseJSON reads JSON.
func parseJSON(path string, data []byte) (*file, error) {
	f := &file{path: path}
	var err error
	f.root, err = f.parseJSON(data)
	return f, err
}

// parseYAML reads YAML.
func parseYAML(path string, data []byte) (*file, error) {
	f := &file{path: path}
	var err error
	f.root, err = f.parseYAML(data)
	return f, err
}

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
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the file is empty, or ends too early", f.path)
	}
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

func (f *file) parseYAML(data []byte) (*value, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the file is empty", f.path)
	} else if err != nil {
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
