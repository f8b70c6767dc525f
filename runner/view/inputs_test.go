package view_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/state"
	"prdrunner/runner"
)

func TestApproveWithInputs(t *testing.T) {
	t.Parallel()
	short := state.Text("short")
	question := runner.Question{Gate: "g", Inputs: []state.AskedInput{
		{Name: "feedback", Type: state.InputString, Description: "what to \x1b[2Jchange"},
		{Name: "style", Type: state.InputString, Options: []state.Text{"short", "long"}, Default: &short},
		{Name: "pages", Type: state.InputNumber},
	}}
	for name, tt := range map[string]struct {
		in    string
		want  runner.Verdict
		given map[string]state.Text
		shows []string
	}{
		"all": {
			in: "y\nless text\nlong\n3\n", want: runner.Approve, given: map[string]state.Text{"feedback": "less text", "style": "long", "pages": "3"},
			shows: []string{"feedback - what to change: ", "style (short|long) [short]: ", "pages (NUMBER): "},
		},
		"a default, and two that are asked for again": {
			in: "y\n\nmore\n\nfew\n3\n", want: runner.Approve, given: map[string]state.Text{"feedback": "more", "style": "short", "pages": "3"},
			shows: []string{"Please answer again: a value is needed.", `Please answer again: pages is a number, such as 80 or 8.5, and cannot be "few".`},
		},
		"the input ends before the last one": {in: "y\nless\n\n", want: runner.Later},
		"a rejection asks for none":          {in: "n\nno\n", want: runner.Reject},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			got, err := terminal(strings.NewReader(tt.in), &out).Approve(t.Context(), question)
			if err != nil || got.Verdict != tt.want {
				t.Fatal(got, err)
			}
			if diff := cmp.Diff(tt.given, got.Inputs); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for _, text := range tt.shows {
				if !strings.Contains(out.String(), text) {
					t.Errorf("shown:\n%s\nwant in it: %q", out.String(), text)
				}
			}
		})
	}
}
