// Copyright the authors of Runner.

package commands

import (
	"fmt"
	"strings"
)

// unknown is the error for a name that no command has. It suggests the nearest name.
func (c *Command) unknown(name string, path []string) error {
	nearest, least := "", 3 // a name that is further away is no slip of the finger
	for _, command := range c.Commands {
		if d := distance(name, command.Name); d < least {
			nearest, least = command.Name, d
		}
	}
	err := fmt.Errorf("%s has no command %q", strings.Join(path, " "), name)
	if nearest != "" {
		err = fmt.Errorf("%w; did you mean %q?", err, nearest)
	}
	return err
}

// distance counts the insertions, deletions and replacements that make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		corner := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := corner
			if a[i-1] != b[j-1] {
				replaced++
			}
			corner = row[j]
			row[j] = min(replaced, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
