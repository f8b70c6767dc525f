package view_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"prdrunner/runner/view"
)

func TestFormats(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		0: "0s", 900 * time.Microsecond: "0s", 38 * time.Millisecond: "38ms", 1290 * time.Millisecond: "1.2s", 125 * time.Minute: "2h 5m", 999 * time.Millisecond: "999ms", time.Second: "1s", 9990 * time.Millisecond: "9.9s", 10 * time.Second: "10s", 59*time.Second + 990*time.Millisecond: "59s",
		time.Minute: "1m", 3*time.Minute + 4*time.Second: "3m 4s", time.Hour: "1h", 50*time.Hour + 5*time.Minute: "2d 2h",
	} {
		if got := view.Duration(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
	now := time.Date(2025, 12, 11, 10, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		-time.Second: "in the future", 0: "just now", 999 * time.Millisecond: "just now", 1500 * time.Millisecond: "1s ago", 50 * time.Second: "50s ago", time.Minute: "1m ago", 59*time.Minute + 59*time.Second: "59m ago",
		time.Hour: "1h ago", 47 * time.Hour: "47h ago", 2 * day: "2d ago", 3*day + time.Hour: "3d ago",
	} {
		if got := view.Ago(now, now.Add(-d)); got != want {
			t.Errorf("%s ago: %s, want %s", d, got, want)
		}
	}
	for digest, want := range map[string]string{
		"sha256:0123456789abcdef": "0123456789ab", "sha256:0123456789ab": "sha256:0123456789ab", "sha512:0123456789abcdef": "sha512:0123456789abcdef", "": "",
	} {
		if got := view.ShortDigest(digest); got != want {
			t.Errorf("%s: %s, want %s", digest, got, want)
		}
	}
	for names, want := range map[[2]string]string{{"WS1", ""}: "WS1", {"WS1", "WS1"}: "WS1", {"WS1", "Database"}: "WS1: Database"} {
		if got := view.Named(names[0], names[1]); got != want {
			t.Errorf("%q: %s", names, got)
		}
	}
}

func TestConfirmYes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{"\n": true, "y\n": true, "yes\n": true, "n\n": false, "later\n": false, "": false} {
		if got, err := terminal(strings.NewReader(in), io.Discard).ConfirmYes(t.Context(), "Go on?"); err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
}
