package view

import (
	"fmt"
	"strings"
	"time"
)

// Duration formats a duration with the precision that users need: 38ms, 1.2s, 12s, 3m 4s, 2h 5m. It
// leaves out what is smaller. Of one that still grows, callers leave out what is smaller than a second.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "0s"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Truncate(100*time.Millisecond).Seconds()), ".0") + "s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return twoUnits(int(d.Minutes()), "m", int(d.Seconds())%60, "s")
	case d < 48*time.Hour:
		return twoUnits(int(d.Hours()), "h", int(d.Minutes())%60, "m")
	}
	return twoUnits(int(d.Hours())/24, "d", int(d.Hours())%24, "h")
}

// twoUnits formats a duration of two units, and omits the smaller one if it is 0.
func twoUnits(large int, largeUnit string, small int, smallUnit string) string {
	if small == 0 {
		return fmt.Sprintf("%d%s", large, largeUnit)
	}
	return fmt.Sprintf("%d%s %d%s", large, largeUnit, small, smallUnit)
}

func millis(ms int64) string { return Duration(time.Duration(ms) * time.Millisecond) }

// clock formats a duration that is still growing, in whole seconds: 12s, 3m 4s, 2h 5m.
func clock(d time.Duration) string { return Duration(d.Truncate(time.Second)) }

// Ago formats the time since then, in one unit: 50s ago, 12m ago.
func Ago(now, then time.Time) string {
	d := now.Sub(then)
	switch {
	case d < 0:
		return "in the future"
	case d < time.Second:
		return "just now"
	case d < time.Minute:
		d = d.Truncate(time.Second)
	case d < time.Hour:
		d = d.Truncate(time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	default:
		d = d.Truncate(24 * time.Hour)
	}
	return Duration(d) + " ago"
}

// Plural formats a number of things: 1 file, 2 files.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// ShortDigest shortens "sha256:…" to its first digits.
func ShortDigest(s string) string {
	const prefix, length = len("sha256:"), 12
	if len(s) > prefix+length && s[:prefix] == "sha256:" {
		return s[prefix : prefix+length]
	}
	return s
}

// ShortCommit shortens the hash of a commit as git does.
func ShortCommit(hash string) string { return hash[:min(7, len(hash))] }

// Named returns the name of a step with its title, if it has one: WS1: Database Layer.
func Named(name, title string) string {
	if title == "" || title == name {
		return name
	}
	return name + ": " + title
}
