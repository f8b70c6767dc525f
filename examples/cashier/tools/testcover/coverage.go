package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
)

// coverage counts the statements of a coverage profile. A line of it is
// "file:from,to statements count"; a block that several test binaries have
// seen is in it several times.
func coverage(path string) (covered, statements int, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, 0, fmt.Errorf("reading the profile: %w", err)
	}
	defer file.Close()

	type block struct{ statements, count int }
	blocks := map[string]block{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "mode:") {
			continue
		}
		var name string
		var b block
		if _, err := fmt.Sscan(lines.Text(), &name, &b.statements, &b.count); err != nil {
			return 0, 0, fmt.Errorf("reading the profile: line %q: %w", lines.Text(), err)
		}
		b.count += blocks[name].count
		blocks[name] = b
	}
	if err := lines.Err(); err != nil {
		return 0, 0, fmt.Errorf("reading the profile: %w", err)
	}
	for _, b := range blocks {
		statements += b.statements
		if b.count > 0 {
			covered += b.statements
		}
	}
	if statements == 0 {
		return 0, 0, errors.New("reading the profile: no statements")
	}
	return covered, statements, nil
}
