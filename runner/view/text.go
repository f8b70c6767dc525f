package view

import (
	"fmt"
	"time"
)

// Duration formats a duration with the precision that users need: 38ms, 1.2s, 3m 4s, 2h 5m.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
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
func clock(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%ds", int(max(0, d).Seconds()))
	}
	return Duration(d)
}

// Ago formats the time since then in words: 12 minutes ago.
func Ago(now, then time.Time) string {
	d := now.Sub(then)
	switch {
	case d < 0:
		return "in the future"
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return Plural(int(d.Minutes()), "minute") + " ago"
	case d < 48*time.Hour:
		return Plural(int(d.Hours()), "hour") + " ago"
	}
	return Plural(int(d.Hours()/24), "day") + " ago"
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
