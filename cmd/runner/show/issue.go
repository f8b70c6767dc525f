package show

import (
	"fmt"
	"strings"

	"prdrunner/checkpoint/disk"
	"prdrunner/checkpoint/text"
)

// issueLines describes the issue at a checkpoint, with its text.
func issueLines(f *disk.CheckpointFile) []string {
	i := f.Issue
	if i == nil {
		return nil
	}
	var lines []string
	if f.IssueNumber > 0 {
		lines = append(lines, fmt.Sprintf("Number: %d", f.IssueNumber))
	}
	if i.Title != "" { // it has none if the pipeline has nothing but its number
		lines = append(lines, "Title: "+string(i.Title))
	}
	for _, list := range []struct {
		title string
		names []string
	}{{"Labels", i.Labels}, {"Assignees", i.Assignees}} {
		if len(list.names) > 0 {
			lines = append(lines, list.title+": "+text.Enumerate(list.names))
		}
	}
	if f.StateLabel != "" {
		lines = append(lines, "State: "+f.StateLabel)
	}
	if i.Branch != "" {
		lines = append(lines, "Branch: "+string(i.Branch))
	}
	if body := strings.TrimSpace(string(i.Body)); body != "" {
		lines = append(lines, "Body:")
		for line := range strings.SplitSeq(body, "\n") {
			lines = append(lines, "  "+line)
		}
	}
	return lines
}
