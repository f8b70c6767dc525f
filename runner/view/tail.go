package view

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"prdrunner/runner"
)

// EndBytes is how much of the end of a log is usually shown.
const EndBytes = 64 << 10

const (
	tailLines = 20
	tailWidth = 400 // columns shown of each line
)

// Tail returns the last lines of a log, cleaned. A missing log has none.
func Tail(path string) ([]string, error) {
	text, err := LogEnd(path, EndBytes)
	_, last := splitTail(text)
	return cutLines(last), err
}

// LogEnd returns the last lines of a log, at most limit bytes of them, cleaned. If lines before them are left
// out, its first line says so. A missing log has none.
func LogEnd(path string, limit int) (string, error) {
	text, whole, err := runner.LogEnd(path, limit)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read log: %w", err)
	}
	if !whole {
		text = "… the lines before these are left out\n" + text
	}
	return Clean(text), nil
}

// splitTail divides a text into its last lines and those before them.
func splitTail(s string) (earlier, last []string) {
	s = strings.TrimRight(s, "\n")
	if s == "" {
		return nil, nil
	}
	lines := strings.Split(s, "\n")
	at := max(0, len(lines)-tailLines)
	return lines[:at], lines[at:]
}

// cutLines shortens each of the lines that is too long for an excerpt.
func cutLines(lines []string) []string {
	short := make([]string, len(lines))
	for i, line := range lines {
		short[i] = cut(line, tailWidth)
	}
	return short
}

// lastLineBytes is how much is read from the end of a log for its last line.
const lastLineBytes = 4 << 10

// readLastLine returns the last line of a log that is not blank, cleaned. What rewrites its line, as
// a progress bar does, is shown as it stands.
func readLastLine(path string) string {
	f, err := runner.OpenLog(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from := max(0, info.Size()-lastLineBytes)
	b, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return ""
	}
	for {
		b = bytes.TrimRight(b, " \t\r\n")
		i := bytes.LastIndexAny(b, "\r\n")
		line := strings.TrimSpace(OneLine(string(b[i+1:])))
		if line != "" || i < 0 {
			return line
		}
		b = b[:i]
	}
}
