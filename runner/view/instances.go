package view

import (
	"regexp"
	"strconv"
	"strings"

	"prdrunner/runner"
)

// instanceKey is the key in the name of an instance, or in that of its gate.
var instanceKey = regexp.MustCompile(`\["(?:[^"\\]|\\.)*"\]`)

// explainedAlike is what steps have in common of which the same is said: instances of one
// block, or their gates, in whose definition the same changed; "" of any other step.
func explainedAlike(s runner.Step) string {
	block := instanceKey.ReplaceAllString(s.Name, "[]")
	if block == s.Name {
		return ""
	}
	parts := []string{block, string(s.Decision), string(s.Reason)}
	explained := false
	for _, c := range s.Changes {
		explained = explained || c.Component == "definition" && c.Name != ""
		parts = append(parts, Difference(c))
	}
	if !explained {
		return ""
	}
	return strings.Join(parts, "\n")
}

// alike finds steps of which the same is said as of one before.
type alike map[string]string

// as is the name of the first step of which the same was said, "" where there is none.
func (a alike) as(s runner.Step) string {
	key := explainedAlike(s)
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
