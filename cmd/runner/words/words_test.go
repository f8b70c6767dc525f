package words_test

import (
	"testing"

	"prdrunner/cmd/runner/words"
)

func TestOneOf(t *testing.T) {
	t.Parallel()
	for want, list := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := words.OneOf(list); got != want {
			t.Errorf("%q gave %q instead of %q", list, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"build", "status", "checkpoint"}
	for typed, want := range map[string]string{"biuld": "build", "statsu": "status", "chekpont": "checkpoint", "export": "", "status": "status", "bxxxd": ""} {
		if got := words.Nearest(typed, known); got != want {
			t.Errorf("%s gave %q instead of %q", typed, got, want)
		}
	}
	if got := words.Nearest("plan", []string{"clan", "plans"}); got != "clan" {
		t.Errorf("of two words that are equally near, the answer is %q, not the first", got)
	}
}
