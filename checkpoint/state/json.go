package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// DecodeJSON is json.Unmarshal that keeps the decimal form of metrics: a float64 holds no
// integer beyond 2^53 exactly.
func DecodeJSON(data []byte, v any) error {
	if !bytes.Contains(data, []byte(`"value":`)) && !bytes.Contains(data, []byte(`"metrics":`)) {
		return json.Unmarshal(data, v)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind the value")
	}
	return nil
}
