package runner

import (
	"path/filepath"
	"unicode/utf8"
)

// maxTail bounds how many bytes at the end of a log are searched for an error.
const maxTail = 256 << 10

// maxMessage bounds the bytes of a recorded error message. A line of output may be as long
// as its log.
const maxMessage = 2000

// shorten returns a text of at most maxMessage bytes. It cuts a longer text and ends it
// with an ellipsis.
func shorten(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	const mark = "…"
	end := maxMessage - len(mark)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}

// logTail reads the end of a log, "" if it can't be read.
func logTail(name string) string {
	text, _, err := LogEnd(name, maxTail)
	if err != nil {
		return ""
	}
	return text
}

// readLogTail returns the end of a log of the session by its name, "" if it is gone.
func (l *loop) readLogTail(name string) string {
	return logTail(filepath.Join(l.opts.Store.Layout().LogsDir(l.pipeline.ID), filepath.Base(name)))
}
