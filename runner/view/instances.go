package view

import (
	"regexp"
	"strconv"
	"strings"

	"prdrunner/runner/plan"
)

// instanceKey matches the key in the name of an instance, or of its gate.
var instanceKey = regexp.MustCompile(`\["(?:[^"\\]|\\.)*"\]`)

// reasonKey returns a key that steps with the same reason share: instances of one block, or
// their gates, for which the same inputs changed. It returns "" for other steps.
func reasonKey(s plan.Step) string {
	block := instanceKey.ReplaceAllString(s.Name, "[]")
	if block == s.Name || len(s.Changes) == 0 {
		return ""
	}
	parts := []string{block, string(s.Decision), string(s.Reason)}
	for _, c := range s.Changes {
		parts = append(parts, Difference(c))
	}
	if s.Cached != nil {
		parts = append(parts, resultOf(s.Cached))
	}
	return strings.Join(parts, "\n")
}

// sameReasons maps a reasonKey to the first step that has it.
type sameReasons map[string]string

// firstWith returns the name of an earlier step with the same reason. It records s and
// returns "" if there is none.
func (a sameReasons) firstWith(s plan.Step) string {
	key := reasonKey(s)
	if first := a[key]; key == "" || first != "" {
		return first
	}
	a[key] = s.Name
	return ""
}

// withCount returns a name and the number of further steps with the same reason.
func withCount(name string, more int) string {
	if more == 0 {
		return name
	}
	return name + " and " + strconv.Itoa(more) + " more"
}
