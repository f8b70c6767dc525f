package view

import (
	"regexp"
	"strconv"
	"strings"

	"prdrunner/runner/plan"
)

// instanceKey is the key in the name of an instance, or in that of its gate.
var instanceKey = regexp.MustCompile(`\["(?:[^"\\]|\\.)*"\]`)

// saidAlike is what steps have in common of which the same is said: instances of one
// block, or their gates, for which the same changed; "" of any other step.
func saidAlike(s plan.Step) string {
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

// alike finds steps of which the same is said as of one before.
type alike map[string]string

// as is the name of the first step of which the same was said, "" where there is none.
func (a alike) as(s plan.Step) string {
	key := saidAlike(s)
	if first := a[key]; key == "" || first != "" {
		return first
	}
	a[key] = s.Name
	return ""
}

// andMore is a name with the number of those of which the same is said.
func andMore(name string, more int) string {
	if more == 0 {
		return name
	}
	return name + " and " + strconv.Itoa(more) + " more"
}
