package view_test

import (
	"strings"
	"testing"

	"prdrunner/runner/view"
)

// TestTableIsWrapped holds that a row that does not fit is divided at spaces, and loses nothing.
func TestTableIsWrapped(t *testing.T) {
	t.Parallel()
	const long = "runner checkpoint diff PRD-001 CP-init-20261129T024152Z-8136d228 workspace --files"
	for name, test := range map[string]struct {
		columns int
		color   bool
		row     []view.Cell
		want    string
	}{
		"fits":                {60, false, []view.Cell{{Text: "Files:"}, {Text: "none"}}, "  Files:  none\n"},
		"just fits":           {14, false, []view.Cell{{Text: "Files:"}, {Text: "none"}}, "  Files:  none\n"},
		"any width":           {0, false, []view.Cell{{Text: long}, {Text: "the difference"}}, "  " + long + "  the difference\n"},
		"below the last cell": {40, false, []view.Cell{{Text: "Files:"}, {Text: "1 added, 2 modified since CP-1 (before one began)"}}, "  Files:  1 added, 2 modified since CP-1\n          (before one began)\n"},
		"painted":             {40, true, []view.Cell{{Text: "Files:"}, {Text: "1 added, 2 modified since CP-1 (before one began)", Style: view.Red}}, "  Files:  \x1b[31m1 added, 2 modified since CP-1\n          (before one began)\x1b[0m\n"},
		"a command": {60, false, []view.Cell{{Text: long}, {Text: "the whole difference"}},
			"  runner checkpoint diff PRD-001\n    CP-init-20261129T024152Z-8136d228 workspace --files  the\n    whole difference\n"},
		"a long word":         {30, false, []view.Cell{{Text: "a"}, {Text: "b " + strings.Repeat("0123456789", 4) + " c"}}, "  a  b 01234567890123456789012\n     34567890123456789 c\n"},
		"a long painted word": {30, true, []view.Cell{{Text: "a"}, {Text: "b " + strings.Repeat("0123456789", 4), Style: view.Red}, {Text: "c"}}, "  a  \x1b[31mb 01234567890123456789012\n    34567890123456789\x1b[0m  c\n"},
		"wide":                {30, false, []view.Cell{{Text: "a"}, {Text: strings.Repeat("漢", 20)}}, "  a  漢漢漢漢漢漢漢漢漢漢漢漢\n     漢漢漢漢漢漢漢漢\n"},
		"very narrow":         {2, false, []view.Cell{{Text: "ab cd"}, {Text: "efg"}}, "  a\nb\ncd\nef\ng\n"},
	} {
		p := view.NewPage(test.color, nil)
		p.Columns = test.columns
		p.Table("  ", [][]view.Cell{test.row})
		if got := p.String(); got != test.want {
			t.Errorf("%s:\n%q\nwant:\n%q", name, got, test.want)
		}
	}
}

// TestCommandIsWrapped holds that a shell takes a command that does not fit for one.
func TestCommandIsWrapped(t *testing.T) {
	t.Parallel()
	for columns, want := range map[int]string{
		0:  "  runner approve PRD-001 'sign-off (one)'\n",
		42: "  runner approve PRD-001 'sign-off (one)'\n",
		41: "  runner approve PRD-001 'sign-off (one)'\n",
		40: "  runner approve PRD-001 \\\n    'sign-off (one)'\n",
		20: "  runner approve \\\n    PRD-001 \\\n    'sign-off (one)'\n",
	} {
		p := view.NewPage(false, nil)
		p.Columns = columns
		p.Command("  ", "runner approve PRD-001 'sign-off (one)'")
		if got := p.String(); got != want {
			t.Errorf("%d columns:\n%s", columns, got)
		}
	}
}
