package state

import "regexp"

// DefaultIDPattern is the pattern of PRD ids if none is configured.
const DefaultIDPattern = `PRD-\d{3,}`

// IDRule says in words what a pattern of PRD ids asks for, as the end of a sentence: an id must … The pattern of the
// ids of sessions, which may be those of called pipelines, gives the same words.
func IDRule(pattern string) string {
	const called = "(?:" + CalledIDPattern + ")?"
	switch pattern {
	case DefaultIDPattern, DefaultIDPattern + called, "^(?:" + DefaultIDPattern + ")" + called + "$":
		return "be PRD- and three digits or more, such as PRD-009"
	}
	return "match " + pattern
}

// MatchesWhole reports whether a pattern matches the whole of s, not only a part.
func MatchesWhole(pattern *regexp.Regexp, s string) bool {
	whole, err := regexp.Compile(`\A(?:` + pattern.String() + `)\z`)
	return err == nil && whole.MatchString(s)
}
