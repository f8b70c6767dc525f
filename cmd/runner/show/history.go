package show

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"prdrunner/checkpoint/state"
	"prdrunner/cmd/runner/info"
	"prdrunner/runner/view"
)

// History shows the sessions of a PRD, and what in the newest one was slower than before.
func History(w io.Writer, r info.HistoryReport) error {
	b := newPage(w)
	b.title("", view.Named(r.PRD, r.Title))
	rows := [][]view.Cell{cells("SESSION", "BEGUN", "RESULT", "RUNS", "DONE", "TOOK", "SLOWER")}
	for _, s := range r.Sessions {
		if s.Damaged != "" {
			rows = append(rows, cells("-", "-", s.Result(), "-", "-", "-", string(s.Path)))
			continue
		}
		row := cells(state.ShortSession(s.Session), s.CreatedAt.UTC().Format(time.DateTime), s.Result(), strconv.Itoa(s.Runs),
			s.Workstreams.String(), info.Took(s.RanMS), slowerInShort(s))
		rows = append(rows, row)
	}
	b.Table("", rows)
	if len(r.Sessions) > 0 {
		writeSlower(b, r.Sessions[len(r.Sessions)-1])
	}
	return b.end()
}

// slowerInShort names the first of what was slower, and counts the rest.
func slowerInShort(s info.HistorySession) string {
	const most = 2
	var names []string
	for _, d := range s.Slower[:min(len(s.Slower), most)] {
		names = append(names, view.OneLine(d.Name))
	}
	if more := len(s.Slower) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return cmp.Or(strings.Join(names, ", "), "-")
}

func writeSlower(b *page, s info.HistorySession) {
	if len(s.Slower) == 0 {
		return
	}
	b.heading("Slower than before in session " + state.ShortSession(s.Session))
	var rows [][]view.Cell
	for _, d := range s.Slower {
		rows = append(rows, cells(string(d.Kind), d.Name, info.Took(d.TookMS),
			fmt.Sprintf("median %s of %d sessions", info.Took(d.MedianMS), d.Sessions), fmt.Sprintf("+%d %%", (d.TookMS-d.MedianMS)*100/max(1, d.MedianMS))))
	}
	b.Table("  ", rows)
}
