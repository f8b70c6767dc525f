package runner

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"prdrunner/checkpoint/workspace"
)

// nextLog returns the number of the next attempt at a hook: the first one of which there
// is no log. The journal does not count these attempts, and no attempt may overwrite the
// log of another one, which a killed Runner may have started.
func (l *loop) nextLog(name string) int {
	for attempt := 1; ; attempt++ {
		if _, err := os.Lstat(l.opts.Store.Layout().LogPath(l.pipeline.ID, name, attempt)); err != nil {
			return attempt
		}
	}
}

// OpenLog opens the log of an attempt for reading. A process may have replaced the log:
// if it is no regular file, reading it might never end, so OpenLog returns an error.
func OpenLog(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|workspace.NonBlock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

const (
	// maxSearched is how many bytes at the end of a log LogEnd reads.
	maxSearched = 16 << 20
	// maxEndLine is how many bytes LogEnd keeps of a line, so that one line without an end, such as
	// a dump of data, does not displace the lines before it.
	maxEndLine = 8 << 10
)

// LogEnd returns the last lines of a log, at most limit bytes of them or one line. Of a long line it
// returns the beginning. whole is false if lines before them are left out. A missing log is an error that
// matches os.ErrNotExist.
func LogEnd(path string, limit int) (text string, whole bool, err error) {
	f, err := OpenLog(path)
	if err != nil {
		return "", false, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", false, err
	}
	from := max(0, info.Size()-maxSearched)
	r := bufio.NewReaderSize(io.NewSectionReader(f, from, info.Size()-from), 64<<10)
	var lines []string
	size := 0
	whole = from == 0
	for {
		line, err := readLine(r)
		if line != "" {
			lines = append(lines, line)
			size += len(line)
		}
		for len(lines) > 1 && size > limit {
			size -= len(lines[0])
			lines, whole = lines[1:], false
		}
		if errors.Is(err, io.EOF) {
			return strings.Join(lines, ""), whole, nil
		}
		if err != nil {
			return "", false, err
		}
	}
}

// readLine returns a line with its end, or the beginning of one that is longer than maxEndLine.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if room := maxEndLine - len(line); room > 0 {
			line = append(line, part[:min(len(part), room)]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(line) == maxEndLine && line[len(line)-1] != '\n' {
			line = append(line, "…\n"...)
		}
		return string(line), err
	}
}
