// Package text holds strings that need not be UTF-8, as file names and output
// are, in forms that JSON keeps and a shell reads.
package text

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Text is a string that survives JSON byte for byte: what is not valid UTF-8
// is written as {"base64":"…"}, since encoding/json would replace it.
type Text string

// List are strings as JSON keeps them: none is [], never null.
func List(list []string) []Text {
	all := make([]Text, len(list))
	for i, s := range list {
		all[i] = Text(s)
	}
	return all
}

type encodedText struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(encodedText{Base64: []byte(t)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var e encodedText
		if err := json.Unmarshal(b, &e); err != nil {
			return fmt.Errorf("decode bytes: %w", err)
		}
		*t = Text(e.Base64)
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	*t = Text(s)
	return nil
}
