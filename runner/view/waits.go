package view

import (
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"prdrunner/runner/progress"
)

// describeWaits says what the steps that have not started wait for, in a number of columns: "waiting: deploy for
// unit, lint (api); docs for deploy +7 more". It returns "" if that is not known, or nothing waits. ready is how many of the others are
// named elsewhere.
func describeWaits(p *progress.Progress, width, ready int) string {
	waits, more := p.Waits()
	more = max(0, more-ready)
	if len(waits) == 0 {
		return ""
	}
	const title = "waiting: "
	var b strings.Builder
	b.WriteString(title)
	for i, w := range waits {
		left := more
		for _, later := range waits[i:] {
			left += len(later.Steps)
		}
		text := describeWait(w)
		if i > 0 {
			text = "; " + text
		}
		if i > 0 && displaywidth.String(b.String()+text+moreSteps(left-len(w.Steps))) > width {
			return b.String() + moreSteps(left)
		}
		b.WriteString(text)
	}
	return b.String() + moreSteps(more)
}

// listWaits says what the steps that have not started wait for in up to so many rows, at least two: one for each
// thing, and how many steps more wait. ready is as for describeWaits.
func listWaits(p *progress.Progress, indent string, room, ready int) (rows []string) {
	waits, more := p.Waits()
	more = max(0, more-ready)
	title := indent + "waiting: "
	for i, w := range waits {
		if len(rows) == room-1 && (more > 0 || i < len(waits)-1) {
			for _, left := range waits[i:] {
				more += len(left.Steps)
			}
			break
		}
		rows = append(rows, title+describeWait(w))
		title = strings.Repeat(" ", len(title))
	}
	if len(rows) > 0 && more > 0 {
		rows = append(rows, strings.TrimSuffix(title, " ")+moreSteps(more))
	}
	return rows
}

// moreSteps says how many steps are left out, "" if none.
func moreSteps(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" +%d more", n)
}

// describeWait says what some steps wait for: deploy, package[…] (12) for unit, lint (api).
func describeWait(w progress.Wait) string {
	return nameFew(foldInstances(w.Steps)) + " for " + nameFew(foldInstances(w.For))
}

// foldInstances puts one name in the place of several instances of a workstream that follow each other.
func foldInstances(names []string) (folded []string) {
	for i := 0; i < len(names); {
		block, n := progress.BlockOf(names[i]), 1
		for block != "" && i+n < len(names) && progress.BlockOf(names[i+n]) == block {
			n++
		}
		if n == 1 {
			folded = append(folded, names[i])
		} else {
			folded = append(folded, fmt.Sprintf("%s[…] (%d)", block, n))
		}
		i += n
	}
	return folded
}

// nameFew names up to three things, or two of more, and counts the others: a, b and 3 more.
func nameFew(names []string) string {
	if len(names) <= 3 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:2], ", "), len(names)-2)
}
