package info

import (
	"fmt"

	"prdrunner/checkpoint/workspace"
)

// Size formats a number of bytes for people.
func Size(bytes int64) string {
	const kilo = 1024
	switch {
	case bytes < kilo:
		return fmt.Sprintf("%d B", bytes)
	case bytes < kilo*kilo:
		return fmt.Sprintf("%.1f KB", float64(bytes)/kilo)
	case bytes < kilo*kilo*kilo:
		return fmt.Sprintf("%.1f MB", float64(bytes)/kilo/kilo)
	}
	return fmt.Sprintf("%.1f GB", float64(bytes)/kilo/kilo/kilo)
}

// ChangeMark returns the sign of a kind of change: +, - or ~.
func ChangeMark(kind workspace.ChangeKind) string {
	switch kind {
	case workspace.Added:
		return "+"
	case workspace.Deleted:
		return "-"
	case workspace.Modified:
	}
	return "~"
}
