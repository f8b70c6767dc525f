package text

import "testing"

func TestShellWord(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"WS1": "WS1", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'"} {
		if got := ShellWord(in); got != want {
			t.Errorf("ShellWord(%q) = %s, want %s", in, got, want)
		}
	}
}
