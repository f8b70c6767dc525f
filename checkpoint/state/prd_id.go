package state

import "regexp"

// DefaultIDPattern is the pattern of PRD ids if none is configured.
const DefaultIDPattern = `PRD-\d{3,}`

// MatchesWhole reports whether a pattern matches the whole of s, not only a part.
func MatchesWhole(pattern *regexp.Regexp, s string) bool {
	whole, err := regexp.Compile(`\A(?:` + pattern.String() + `)\z`)
	return err == nil && whole.MatchString(s)
}
