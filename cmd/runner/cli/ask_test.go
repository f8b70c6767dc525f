package cli

import (
	"bytes"
	"testing"

	"prdrunner/cmd/runner/show"
)

// TestAnnounceRestore: only a person who waits for many files is told of them.
func TestAnnounceRestore(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		terminal bool
		output   string
		json     bool
		count    int
		want     string
	}{
		{"many", true, "auto", false, 5000, "Restoring 5000 files…\n"},
		{"as many as take a while", true, "auto", false, 100, "Restoring 100 files…\n"},
		{"few", true, "auto", false, 99, ""},
		{"no terminal", false, "auto", false, 5000, ""},
		{"--json", true, "auto", true, 5000, ""},
		{"--output json", true, "json", false, 5000, ""},
		{"--output quiet", true, "quiet", false, 5000, ""},
	} {
		var out bytes.Buffer
		env := &Environment{Stderr: show.NewScreen(&out), IsTerminal: func(any) bool { return test.terminal }}
		env.Options.Output = test.output
		AnnounceRestore(env, test.count, test.json)
		if out.String() != test.want {
			t.Errorf("%s: %q, want %q", test.name, out.String(), test.want)
		}
	}
}
