package show_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/cmd/runner/explain"
	"prdrunner/cmd/runner/show"
)

// TestExplanation: paragraphs and lists are wrapped, code and commands are not.
func TestExplanation(t *testing.T) {
	t.Parallel()
	topic := explain.Topic{
		Kind: explain.Diagnostic, Names: []string{"bad-thing"}, Headline: "A thing is bad.",
		Body: "A long line that goes on\nand on, with `runner build PRD --resume`:\n\n" +
			"- one item that is long enough\n- another\n\n```hcl mistake in file\nx = 1\n```\n\n```hcl in file\nx = 2\n```\n\n    runner status PRD # a long line of code stays as it is\n\nThe end.",
	}
	var buf bytes.Buffer
	if err := show.Explanation(&buf, "bad-thing", []explain.Topic{topic}, 24); err != nil {
		t.Fatal(err)
	}
	want := `bad-thing (diagnostic)

A thing is bad.

A long line that goes on
and on, with
` + "`runner build PRD --resume`:" + `

- one item that is long
  enough
- another

    # not like this:
    x = 1

    # but like this:
    x = 2

    runner status PRD # a long line of code stays as it is

The end.
`
	if diff := cmp.Diff(want, buf.String()); diff != "" {
		t.Error(diff)
	}
}

func TestExplanations(t *testing.T) {
	t.Parallel()
	sections := []explain.Section{{Heading: "Words", Topics: []explain.Topic{
		{Names: []string{"short"}, Headline: "One."}, {Names: []string{"a-name-that-is-long", "b"}, Headline: "Two."},
	}}}
	var buf bytes.Buffer
	if err := show.Explanations(&buf, sections, 80); err != nil {
		t.Fatal(err)
	}
	const column = 22
	want := "Words\n\n  short" + strings.Repeat(" ", column-7) + "One.\n  a-name-that-is-long, b\n" + strings.Repeat(" ", column) + "Two.\n\n`runner explain NAME` says more.\n"
	if diff := cmp.Diff(want, buf.String()); diff != "" {
		t.Error(diff)
	}
}
