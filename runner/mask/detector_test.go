package mask

import (
	"encoding/base64"
	"testing"
)

func TestDetects(t *testing.T) {
	t.Parallel()
	m := masker(t, password)
	for text, want := range map[string]bool{
		"":                         false,
		password[:len(password)-1]: false,
		"a" + password + "b":       true,
		base64.StdEncoding.EncodeToString([]byte(password)): true,
	} {
		for cut := range len(text) + 1 {
			d := m.Detector()
			for _, part := range []string{text[:cut], text[cut:]} {
				if _, err := d.Write([]byte(part)); err != nil {
					t.Fatal(err)
				}
			}
			if d.Found() != want {
				t.Errorf("%q, cut at %d: found %v", text, cut, d.Found())
			}
		}
	}
	if !m.Any() || masker(t).Any() {
		t.Error("it is wrong about there being something to hide")
	}
}
