package objects_test

import (
	"strings"
	"testing"

	"prdrunner/checkpoint/objects"
)

// TestIsHex tries every byte in every place.
func TestIsHex(t *testing.T) {
	t.Parallel()
	if !objects.IsHex("") || !objects.IsHex("0123456789abcdef0123456789abcde") {
		t.Error("hexadecimal digits are not accepted")
	}
	for length := range 18 {
		for at := range length {
			for b := range 256 {
				text := []byte(strings.Repeat("f", length))
				text[at] = byte(b)
				if want := strings.IndexByte("0123456789abcdef", byte(b)) >= 0; objects.IsHex(text) != want || objects.IsHex(string(text)) != want {
					t.Errorf("%q: %v", text, !want)
				}
			}
		}
	}
}
