package view

import (
	"bytes"
	"fmt"
	"time"

	"prdrunner/checkpoint"
)

// style is a way to set text off on a terminal: the parameters of ANSI's SGR.
type style string

const (
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

// painted is text that is safe to print as it is.
type painted string

// page collects what is printed at once. Its printf cleans every text that
// it is given, but what paint has made.
type page struct {
	bytes.Buffer
	color bool
}

func (p *page) printf(format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = OneLine(a)
		case checkpoint.Text:
			args[i] = OneLine(string(a))
		}
	}
	fmt.Fprintf(&p.Buffer, format, args...)
}

func (p *page) paint(s style, text string) painted {
	text = OneLine(text)
	if !p.color || text == "" {
		return painted(text)
	}
	return painted("\x1b[" + string(s) + "m" + text + "\x1b[0m")
}

// Duration prints a duration with the precision that a person reads: 38ms,
// 1.2s, 3m04s, 2h05m.
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

// Ago prints how long ago something was in words: 12 minutes ago.
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

// Plural counts things: 1 file, 2 files.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// ShortDigest shortens "sha256:…" to what a person compares.
func ShortDigest(s string) string {
	const prefix, length = len("sha256:"), 12
	if len(s) > prefix+length && s[:prefix] == "sha256:" {
		return s[prefix : prefix+length]
	}
	return s
}

// ShortCommit is a commit's hash as git abbreviates it.
func ShortCommit(hash string) string { return hash[:min(7, len(hash))] }

// Named is a step's name with its title where it has one: WS1: Database Layer.
func Named(name, title string) string {
	if title == "" || title == name {
		return name
	}
	return name + ": " + title
}
