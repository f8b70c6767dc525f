package runner

import (
	"io"
	"unicode/utf8"
)

// maxTail is how much of the end of a log is searched for what went wrong.
const maxTail = 256 << 10

// maxMessage is how many bytes of a line of output go on record as what went
// wrong. A line may be as long as the log is.
const maxMessage = 2000

// shortened is a text of at most maxMessage bytes, which says so where it was
// longer.
func shortened(s string) string {
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

// logTail reads the last part of a log.
func logTail(name string) string {
	f, err := OpenLog(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() > maxTail {
		if _, err := f.Seek(-maxTail, io.SeekEnd); err != nil {
			return ""
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTail))
	if err != nil {
		return ""
	}
	return string(text)
}
