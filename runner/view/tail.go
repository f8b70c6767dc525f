package view

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"prdrunner/runner"
)

const (
	tailLines = 20
	tailBytes = 64 << 10 // all that is read of a log, whatever its size
	tailWidth = 400      // characters shown of a line
)

// tail returns the last lines of a log, cleaned. A log that is not there has
// none.
func tail(path string) ([]string, error) {
	f, err := runner.OpenLog(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	defer func() { _ = f.Close() }() // only read from
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	from := max(0, info.Size()-tailBytes)
	b, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	if from > 0 { // begin with a whole line, if there is one
		if _, after, ok := bytes.Cut(b, []byte("\n")); ok {
			b = after
		}
	}
	return lastLines(Clean(string(b))), nil
}

func lastLines(s string) []string {
	s = strings.TrimRight(s, "\n")
	if s == "" {
		return nil
	}
	lines := strings.Split(s, "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		lines[i] = cut(line, tailWidth)
	}
	return lines
}

// cut shortens a line to a number of characters, and says so.
func cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	r := []rune(s)
	return string(r[:max(0, width-1)]) + "…"
}
