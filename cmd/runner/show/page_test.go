package show

import (
	"bytes"
	"testing"

	"prdrunner/cmd/runner/advice"
	"prdrunner/cmd/runner/info"
)

// TestNarrowTerminal holds that a page divides its lines at spaces, and commands so that a shell takes them.
func TestNarrowTerminal(t *testing.T) {
	t.Parallel()
	for columns, want := range map[int]string{
		0: "  Files:  1 added, 2 modified since CP-1 (before one began)\n" +
			"  runner checkpoint diff PRD-001 CP-init-20261129T024152Z workspace --files  the whole difference\n  runner outputs PRD-001                                                     outputs and metrics\n",
		100: "  Files:  1 added, 2 modified since CP-1 (before one began)\n" +
			"  runner checkpoint diff PRD-001 CP-init-20261129T024152Z workspace --files  the whole difference\n  runner outputs PRD-001                                                     outputs and metrics\n",
		50: "  Files:  1 added, 2 modified since CP-1 (before\n          one began)\n" +
			"  runner checkpoint diff PRD-001 \\\n    CP-init-20261129T024152Z workspace --files\n      the whole difference\n  runner outputs PRD-001\n      outputs and metrics\n",
	} {
		var out bytes.Buffer
		screen := NewScreen(&out)
		screen.Columns = func() int { return columns }
		p := newPage(screen)
		p.facts(fact("Files", "1 added, 2 modified since CP-1 (before one began)"))
		p.commands(advice.CommandLine{},
			advice.Suggest("checkpoint diff PRD-001 CP-init-20261129T024152Z workspace --files", "the whole difference"), advice.Suggest("outputs PRD-001", "outputs and metrics"))
		if err := p.end(); err != nil || out.String() != want {
			t.Errorf("%d columns (%v):\n%s\nwant:\n%s", columns, err, out.String(), want)
		}
	}
}

// TestDifferenceOfJudged holds that the command of a difference can be typed as it is shown on a narrow terminal.
func TestDifferenceOfJudged(t *testing.T) {
	t.Parallel()
	const difference = "runner checkpoint diff PRD-001 CP-init-20261129T024152Z workspace --files"
	files := info.FilesSince{Checkpoint: "CP-1", Before: "before one began", Counts: &info.ChangeCounts{Added: 1}, Difference: difference}
	for columns, want := range map[int]string{
		0:  "  Files:       1 added since CP-1 (before one began)\n  Difference:  " + difference + "\n",
		88: "  Files:       1 added since CP-1 (before one began)\n  Difference:  " + difference + "\n",
		87: "  Files:  1 added since CP-1 (before one began)\n  Difference:\n    " + difference + "\n",
		50: "  Files:  1 added since CP-1 (before one began)\n" +
			"  Difference:\n    runner checkpoint diff PRD-001 \\\n      CP-init-20261129T024152Z workspace --files\n",
	} {
		var out bytes.Buffer
		screen := NewScreen(&out)
		screen.Columns = func() int { return columns }
		p := newPage(screen)
		p.judged("  ", &info.Judged{Files: files})
		if err := p.end(); err != nil || out.String() != want {
			t.Errorf("%d columns (%v):\n%s\nwant:\n%s", columns, err, out.String(), want)
		}
	}
}
