package pipeline

import (
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	t.Parallel()
	if got := string(Format([]byte("a=1\nlonger   = 2\n"))); got != "a      = 1\nlonger = 2\n" {
		t.Errorf("%q", got)
	}
	if deep := strings.Repeat("[", 10_000); string(Format([]byte(deep))) != deep {
		t.Error("a text that can't be parsed must not change")
	}
}
