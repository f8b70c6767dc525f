package logs

import (
	"bytes"
	"fmt"
	"io"
)

// tailBlock is how many bytes are read at once, from the end of a log to its beginning.
const tailBlock = 64 << 10

// tailStart returns the offset at which the last n lines of a log begin that match, in a log of size
// bytes. A nil match takes every line. It reads the log backwards, and no further than it must. Of a
// line that is longer than maxLine it matches the end.
func tailStart(log io.ReaderAt, size int64, n int, match func(line []byte) bool) (int64, error) {
	if n <= 0 {
		return size, nil
	}
	block := make([]byte, tailBlock)
	var line []byte // the part of the current line that was read; empty without match
	found := size   // where the earliest line begins that was found
	for end := size; end > 0; {
		from := max(0, end-tailBlock)
		b := block[:end-from]
		if _, err := log.ReadAt(b, from); err != nil && err != io.EOF { //nolint:errorlint // io.ReaderAt returns io.EOF itself
			return 0, fmt.Errorf("read from the end: %w", err)
		}
		for {
			i := bytes.LastIndexByte(b, '\n')
			if match != nil {
				line = prepend(b[i+1:], line)
			}
			if i < 0 {
				break
			}
			// The newline at the very end begins no line.
			if at := from + int64(i) + 1; at < size && (match == nil || match(line)) {
				if found, n = at, n-1; n == 0 {
					return found, nil
				}
			}
			line, b = line[:0], b[:i]
		}
		end = from
	}
	if size > 0 && (match == nil || match(line)) {
		found = 0
	}
	return found, nil
}

// prepend returns text with more before it, the last maxLine bytes of it.
func prepend(more, text []byte) []byte {
	if len(text) >= maxLine {
		return text
	}
	all := make([]byte, 0, len(more)+len(text))
	all = append(append(all, more...), text...)
	return all[max(0, len(all)-maxLine):]
}
