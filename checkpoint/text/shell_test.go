package text

import "testing"

func TestShellWord(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"WS1": "WS1", "azAZ09-_./=:,+@%": "azAZ09-_./=:,+@%", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "é ✓": "'é ✓'",
		"a\x1b]0;t\a": `$'a\033]0;t\007'`, "\xff'\\\n": `$'\377\'\\\012'`, "\u202e": `$'\342\200\256'`} {
		if got := ShellWord(in); got != want {
			t.Errorf("ShellWord(%q) = %s, want %s", in, got, want)
		}
	}
}
