package state

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Issue is the issue of a tracker that a pipeline works on, as a run found it.
type Issue struct {
	Number     int      `json:"number,omitempty"`
	Title      Text     `json:"title"`
	Body       Text     `json:"body"` // at most MaxIssueBody bytes of it
	Labels     []string `json:"labels"`
	Assignees  []string `json:"assignees"`
	Digest     string   `json:"digest"`                // of the title and of the whole body
	Phase      string   `json:"phase,omitempty"`       // whose label the issue has
	StateLabel string   `json:"state_label,omitempty"` // that label
}

// MaxIssueBody is how many bytes of the body of an issue are recorded.
const MaxIssueBody = 64 << 10

// SetText sets the title and the body, which it cuts if it is longer than MaxIssueBody.
func (i *Issue) SetText(title, body string) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s%s", len(title), title, body))
	i.Digest = "sha256:" + hex.EncodeToString(sum[:])
	if len(body) > MaxIssueBody {
		body = strings.ToValidUTF8(body[:MaxIssueBody], "")
	}
	i.Title, i.Body = Text(title), Text(body)
}

// Name is what people call the issue: its number, or else its title.
func (i *Issue) Name() string {
	if i.Number > 0 {
		return fmt.Sprintf("#%d", i.Number)
	}
	return string(i.Title)
}

// DescribeLabels says how the labels and assignees of an issue changed, "" if they did not.
func (i *Issue) DescribeLabels(now *Issue) string {
	var parts []string
	for _, lists := range []struct {
		what     string
		was, now []string
	}{{"labels", i.Labels, now.Labels}, {"assignees", i.Assignees, now.Assignees}} {
		if changes := describeSets(lists.was, lists.now); changes != "" {
			parts = append(parts, lists.what+" "+changes)
		}
	}
	text := strings.Join(parts, "; ")
	if i.Phase != now.Phase && i.Phase != "" && now.Phase != "" {
		text += fmt.Sprintf("; it moved from phase %s to phase %s", i.Phase, now.Phase)
	}
	return text
}

// describeSets lists the names that were added to a set and those that were removed from it.
func describeSets(was, now []string) string {
	var changes []string
	for _, name := range now {
		if !slices.Contains(was, name) {
			changes = append(changes, "+"+name)
		}
	}
	for _, name := range was {
		if !slices.Contains(now, name) {
			changes = append(changes, "-"+name)
		}
	}
	return strings.Join(changes, " ")
}

// IssueSnapshot is the issue at a checkpoint.
type IssueSnapshot struct {
	Title     Text     `json:"title"`
	Body      Text     `json:"body"`
	Labels    []string `json:"labels"`
	Assignees []string `json:"assignees"`
	Branch    Text     `json:"branch,omitempty"`
}

// NewIssueSnapshot derives the snapshot of the issue, nil if there is none. Its branch is
// the git branch on which the run works.
func NewIssueSnapshot(i *Issue, head *Git) *IssueSnapshot {
	if i == nil {
		return nil
	}
	s := &IssueSnapshot{Title: i.Title, Body: i.Body, Labels: i.Labels, Assignees: i.Assignees}
	if head != nil {
		s.Branch = head.Branch
	}
	return s
}
