// Package words helps with the words that a user types and reads. OneOf lists the allowed words
// in a message, and Nearest finds the word that the user may have misspelt.
package words

import (
	"strings"

	"github.com/agext/levenshtein"
)

// OneOf lists words for a message: `a, b or c`.
func OneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// Nearest returns the candidate that the user most likely meant by a misspelt word, or "".
func Nearest(word string, candidates []string) string {
	best, bestDistance := "", max(2, len(word)/4)+1
	for _, c := range candidates {
		if d := levenshtein.Distance(word, c, nil); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}
