package view

import (
	"bytes"
	"fmt"
	"time"

	"prdrunner/checkpoint/state"
)

// style holds the parameters of an SGR escape sequence (ANSI).
type style string

const (
	none   style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

// painted is text that is safe to print unchanged.
type painted string

// page collects text to be printed in one write. Its printf cleans every text argument
// except painted ones.
type page struct {
	bytes.Buffer
	color   bool
	neutral func(string) string // for a CI system; nil: it stays as it is
}

// oneLine makes a text from outside safe in one line.
func (p *page) oneLine(text string) string {
	text = OneLine(text)
	if p.neutral != nil {
		text = p.neutral(text)
	}
	return text
}

func (p *page) printf(format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = p.oneLine(a)
		case state.Text:
			args[i] = p.oneLine(string(a))
		}
	}
	fmt.Fprintf(&p.Buffer, format, args...)
}

func (p *page) paint(s style, text string) painted {
	text = p.oneLine(text)
	if !p.color || text == "" || s == none {
		return painted(text)
	}
	return painted("\x1b[" + string(s) + "m" + text + "\x1b[0m")
}

// Duration formats a duration with the precision that users need: 38ms, 1.2s, 3m04s, 2h05m.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

func millis(ms int64) string { return Duration(time.Duration(ms) * time.Millisecond) }

// clock formats a duration that is still growing, in whole seconds: 12s, 3m04s, 2h05m.
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
