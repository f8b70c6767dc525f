package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// lineIndex tells on which line of a document each value stands. The key of a
// value is the path to it: status, completed_workstreams[0], artifacts.WS1.
type lineIndex map[string]int

// indexLines finds the line of each value. Of a text that is no JSON it holds
// what stands before the mistake.
func indexLines(data []byte) lineIndex {
	index := lineIndex{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	_ = index.value(d, data, "")
	return index
}

// value notes the line of the next value, and of every value inside it.
func (x lineIndex) value(d *json.Decoder, data []byte, path string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	x.note(d, data, path)
	switch token {
	case json.Delim('{'):
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return err
			}
			field := fmt.Sprint(name)
			if path != "" {
				field = path + "." + field
			}
			x.note(d, data, field)
			if err := x.value(d, data, field); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for i := 0; d.More(); i++ {
			if err := x.value(d, data, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = d.Token() // the end of the object or list
	return err
}

// note records where the token that was read last ends. A field has the line of its
// name: that is noted first.
func (x lineIndex) note(d *json.Decoder, data []byte, path string) {
	if _, known := x[path]; !known {
		x[path] = lineAt(data, d.InputOffset())
	}
}

// lineAt is the number of the line that holds the byte before an offset.
func lineAt(data []byte, offset int64) int {
	end := max(0, min(int(offset), len(data)))
	return 1 + bytes.Count(data[:end], []byte("\n"))
}
