package show_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/cmd/runner/info"
	"prdrunner/cmd/runner/show"
)

func TestDoctor(t *testing.T) {
	t.Parallel()
	findings := []info.Finding{
		{Check: "git", Level: info.OK, Detail: "version 2"},
		{Check: "disk\x1b[1m", Level: info.Warning, Detail: "two\nlines\x1b[1m", Next: "`df`"},
		{Check: "state directory", Level: info.Problem, Detail: "it is gone", Next: "look for it"},
		{Check: "sessions", Level: info.NotChecked, Detail: "no", Next: "name one"},
	}
	var text bytes.Buffer
	if err := show.Doctor(&text, findings); err != nil {
		t.Fatal(err)
	}
	want := `ok         git: version 2
warning    disk: two
           lines
           → ` + "`df`" + `
problem    state directory: it is gone
           → look for it
unchecked  sessions: no
           → name one

1 problem, 1 warning.
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Error(diff)
	}
	text.Reset()
	screen := show.NewScreen(&text)
	screen.Color = true
	if err := show.Doctor(screen, findings[:1]); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[32mok        \x1b[0m git: version 2\n\nNothing is wrong.\n"; text.String() != want {
		t.Errorf("%q", text.String())
	}
	data, err := json.Marshal(info.NewDoctorReport(findings[1:3]))
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Problems, Warnings int
		Checks             []map[string]string
	}
	if err := json.Unmarshal(data, &report); err != nil || report.Problems != 1 || report.Warnings != 1 || report.Checks[1]["level"] != "problem" || report.Checks[0]["next"] != "`df`" {
		t.Errorf("%s: %v", data, err)
	}
}
