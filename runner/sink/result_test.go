package sink_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
	"prdrunner/runner/sink"
)

// TestExportsAreNoCommands has a shell read what is written: it must set the variables to the texts
// and run nothing of them.
func TestExportsAreNoCommands(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell here: ", err)
	}
	for text, want := range map[string]string{
		"":                                    "",
		"sign-off (one)":                      "sign-off (one)",
		"'; touch made; '":                    "'; touch made; '",
		"$(touch made) `touch made` $HOME \\": "$(touch made) `touch made` $HOME \\",
		"a\ntouch made\n":                     `a\ntouch made`,
		"!! \x1b[31m\u202eb":                  `!! \u202eb`,
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "env")
		must(t, os.WriteFile(path, []byte("export OTHER=1"), 0o600))
		o := options(t)
		o.Append = true
		s, err := sink.Open(sink.Exports, path, o)
		must(t, err)
		s.Begin(beginning())
		s.End(runner.Ending{Status: state.StatusPaused, Pause: &state.Pause{Gates: []string{text}}})
		must(t, s.Err())
		cmd := exec.CommandContext(t.Context(), shell, "-c", `. ./env && printf '%s|%s|%s' "$OTHER" "$RUNNER_RESULT_STATUS" "$RUNNER_RESULT_PAUSED_AT"`)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != "1|paused|"+want {
			t.Errorf("%q: the shell has %q, %v", text, out, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
			t.Errorf("%q was run", text)
		}
	}
}
