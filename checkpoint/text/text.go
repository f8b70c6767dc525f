// Package text represents strings that need not be UTF-8, such as file names and output.
//
// A Text is such a string in JSON, and ShellWord writes one for a shell command. Formatting
// for a terminal belongs in package view.
package text

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text is a string that JSON preserves byte for byte. A string that is not valid UTF-8 is
// written as {"base64":"…"}, because encoding/json would replace the invalid bytes.
type Text string

// List converts strings. The result is never nil, so that JSON shows [] and not null.
func List(list []string) []Text {
	all := make([]Text, len(list))
	for i, s := range list {
		all[i] = Text(s)
	}
	return all
}

// ValidUTF8 returns the text with U+FFFD in place of bytes that are not valid UTF-8.
func (t Text) ValidUTF8() string { return strings.ToValidUTF8(string(t), "\uFFFD") }

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
