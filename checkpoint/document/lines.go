package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// lineIndex says on which line of a document each value is. The key is the path of the
// value: status, completed_workstreams[0], artifacts.WS1.
type lineIndex map[string]int

// indexLines finds the line of each value, and the fields that occur twice in an object.
// In a text that is not JSON it indexes the part before the mistake.
func indexLines(data []byte) (lineIndex, []mistake) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	x := indexing{data: data, decoder: d, lines: lineIndex{}}
	_ = x.indexValue("")
	return x.lines, x.repeated
}

// indexing is the work of indexLines.
type indexing struct {
	data     []byte
	decoder  *json.Decoder
	lines    lineIndex
	repeated []mistake
}

// indexValue notes the line of the next value, and of every value inside it.
func (x *indexing) indexValue(path string) error {
	token, err := x.decoder.Token()
	if err != nil {
		return err
	}
	x.recordLine(path)
	switch token {
	case json.Delim('{'):
		names := map[string]bool{}
		for x.decoder.More() {
			name, err := x.indexField(path, names)
			if err != nil {
				return err
			}
			if err := x.indexValue(name); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for i := 0; x.decoder.More(); i++ {
			if err := x.indexValue(fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = x.decoder.Token() // the end of the object or list
	return err
}

// indexField notes the line of the next field of an object and returns its path. names
// are the fields before it.
func (x *indexing) indexField(object string, names map[string]bool) (string, error) {
	token, err := x.decoder.Token()
	if err != nil {
		return "", err
	}
	name := fmt.Sprint(token)
	path := joinField(object, name)
	if names[name] {
		x.repeated = append(x.repeated, mistake{path, Violation{Line: x.lastLine(), Message: path + " is there twice"}})
	}
	names[name] = true
	x.recordLine(path)
	return path, nil
}

// joinField returns the path of a field of an object. A name that is not printable is
// quoted.
func joinField(object, name string) string {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		name = strconv.Quote(name)
	}
	if object == "" {
		return name
	}
	return object + "." + name
}

// recordLine records the line on which the last token ends. A field gets the line of its
// name, since that is noted first.
func (x *indexing) recordLine(path string) {
	if _, known := x.lines[path]; !known {
		x.lines[path] = x.lastLine()
	}
}

// lastLine returns the line of the last token.
func (x *indexing) lastLine() int { return lineAt(x.data, x.decoder.InputOffset()) }

// lineAt returns the number of the line that holds the byte before an offset.
func lineAt(data []byte, offset int64) int {
	end := max(0, min(int(offset), len(data)))
	return 1 + bytes.Count(data[:end], []byte("\n"))
}
