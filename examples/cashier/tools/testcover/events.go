package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"cashier/tools/internal/report"
)

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action string
	Test   string
	Output string
}

// follow reads the events of go test until they end and returns the tests that
// ended. What failing tests, and those of no test, have printed goes to out.
func follow(events io.Reader, out io.Writer, dir string) ([]report.Test, error) {
	var tests []report.Test
	printed := map[string]*strings.Builder{}
	decoder := json.NewDecoder(events)
	for {
		var e event
		err := decoder.Decode(&e)
		if errors.Is(err, io.EOF) {
			return tests, nil
		}
		if err != nil {
			// The writer must not be left with a full pipe.
			_, _ = io.Copy(io.Discard, events)
			return nil, fmt.Errorf("reading the output of go test: %w", err)
		}
		switch e.Action {
		case "output", "build-output":
			if e.Test == "" {
				fmt.Fprint(out, e.Output)
				continue
			}
			if printed[e.Test] == nil {
				printed[e.Test] = &strings.Builder{}
			}
			printed[e.Test].WriteString(locate(e.Output, dir))
		case report.Pass, report.Skip, report.Fail:
			if e.Test == "" {
				continue
			}
			tests = append(tests, report.Test{Name: e.Test, Outcome: e.Action})
			if text := printed[e.Test]; e.Action == report.Fail && text != nil {
				fmt.Fprint(out, text)
			}
			delete(printed, e.Test)
		}
	}
}

// location is where go test says that a test complained: the file's name
// without its directory.
var location = regexp.MustCompile(`^\s+(\w+\.go:\d+: )`)

// locate puts the directory before the file name of a complaint, so that it
// can be found from the root of the module.
func locate(line, dir string) string {
	found := location.FindStringSubmatchIndex(line)
	if found == nil {
		return line
	}
	return path.Join(dir, line[found[2]:])
}
