// Package suggest writes the parts of messages that help an author with a name that does not
// exist: DidYouMean names the one that was probably meant, Listing those that there are. It
// knows only names; what they stand for, the caller says.
package suggest

import (
	"fmt"
	"iter"
	"sort"
	"strings"

	"github.com/agext/levenshtein"
)

// DidYouMean returns ` Did you mean "x"?` with the candidate nearest to given, or "" if
// none is near.
func DidYouMean(given string, candidates iter.Seq[string]) string {
	best, distance := "", len(given)
	for candidate := range candidates {
		d := levenshtein.Distance(given, candidate, nil)
		if d < distance || d == distance && best != "" && candidate < best {
			best, distance = candidate, d
		}
	}
	// Two exchanged letters count as two mistakes. More than a third of the letters wrong
	// is another word.
	allowed := max(2, len(given)/3)
	if len(given) < 4 {
		allowed = 1
	}
	if best == "" || distance > allowed {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", best)
}

// Listing returns a sorted, comma-separated list for messages. A long list is cut.
func Listing(names iter.Seq[string]) string {
	const most = 8
	var all []string
	for name := range names {
		all = append(all, name)
	}
	if len(all) == 0 {
		return "none"
	}
	sort.Strings(all)
	if len(all) > most {
		return strings.Join(all[:most], ", ") + fmt.Sprintf(" and %d more", len(all)-most)
	}
	return strings.Join(all, ", ")
}
