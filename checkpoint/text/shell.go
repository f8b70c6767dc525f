package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ShellWord quotes a word for a POSIX shell if needed, for commands that are shown to the
// user. A word with unprintable characters needs a shell that knows $'…'.
func ShellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,+@%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	if strings.IndexFunc(word, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) >= 0 {
		return escapedWord(word)
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// escapedWord quotes a word as $'…', with unprintable bytes as octal numbers.
func escapedWord(word string) string {
	var b strings.Builder
	b.WriteString("$'")
	for len(word) > 0 {
		r, size := utf8.DecodeRuneInString(word)
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case r != utf8.RuneError && unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			for _, x := range []byte(word[:size]) {
				fmt.Fprintf(&b, `\%03o`, x)
			}
		}
		word = word[size:]
	}
	b.WriteString("'")
	return b.String()
}
